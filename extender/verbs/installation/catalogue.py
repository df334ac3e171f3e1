"""Every kind of trouble that the installation can show, with what to do about it."""

from typing import Final

from extender.verbs.diagnosis import Severity, Trouble

SCHEDULER_LACKS_EXTENDER: Final = Trouble(
    "SchedulerLacksExtender",
    Severity.ERROR,
    "No extender of kube-scheduler's configuration is asked about cards: pods that "
    "ask for some are placed without them.",
    "add the stanza of config/kube-scheduler.yaml and restart kube-scheduler, which "
    "reads it at its start only",
)
SCHEDULER_ASKS_ELSEWHERE: Final = Trouble(
    "SchedulerAsksElsewhere",
    Severity.ERROR,
    "kube-scheduler asks an address where the extender does not listen: every pod "
    "with cards goes to back-off.",
    "let urlPrefix name the address of --listen (docs/troubleshooting.md)",
)
SCHEDULER_ASKS_UNKNOWN_PATH: Final = Trouble(
    "SchedulerAsksUnknownPath",
    Severity.ERROR,
    "A verb of kube-scheduler's configuration leads to a path that the extender does "
    "not serve: it is answered 404, and pods with cards go to back-off.",
    "write filterVerb: filter, prioritizeVerb: prioritize, bindVerb: bind, no "
    "preemptVerb, and no path in urlPrefix",
)
SCHEDULER_BINDS_ITSELF: Final = Trouble(
    "SchedulerBindsItself",
    Severity.ERROR,
    "kube-scheduler does not let the extender filter and bind: pods are bound without "
    "cards, and their device plugin fails them or hands out another pod's.",
    "set filterVerb and bindVerb, and ignorable: false",
)
SCHEDULER_DOES_NOT_SCORE: Final = Trouble(
    "SchedulerDoesNotScore",
    Severity.NOTE,
    "The extender is not asked for scores, so node policies (binpack, spread) have no "
    "effect.",
    "set prioritizeVerb: prioritize, with a weight",
)
SCHEDULER_TIMEOUT_TOO_SHORT: Final = Trouble(
    "SchedulerTimeoutTooShort",
    Severity.WARNING,
    "kube-scheduler gives up on binds that still wait for a node's lock, and would "
    "succeed.",
    "httpTimeout: 30s",
)
SCHEDULER_SENDS_WHOLE_NODES: Final = Trouble(
    "SchedulerSendsWholeNodes",
    Severity.WARNING,
    "Each question brings whole Node objects: tens of megabytes of a large cluster, "
    "which take longer than the answer.",
    "nodeCacheCapable: true",
)
SCHEDULER_SAMPLES_NODES: Final = Trouble(
    "SchedulerSamplesNodes",
    Severity.WARNING,
    "kube-scheduler sends a part of the nodes, chosen without a look at memory and "
    "cores: a pod may wait although a node that was left out has room.",
    "percentageOfNodesToScore: 100",
)
SCHEDULER_SCHEME_DIFFERS: Final = Trouble(
    "SchedulerSchemeDiffers",
    Severity.ERROR,
    "kube-scheduler speaks plain HTTP where the extender serves TLS, or the other way "
    "round.",
    "let the scheme of urlPrefix and enableHTTPS agree with --tls-cert and "
    "--plain-verbs (docs/http.md)",
)
SCHEDULER_SHOWS_NO_CERTIFICATE: Final = Trouble(
    "SchedulerShowsNoCertificate",
    Severity.ERROR,
    "The extender asks clients for a certificate (--client-ca), and kube-scheduler "
    "shows none: it is answered 403.",
    "set certFile and keyFile in tlsConfig",
)
SCHEDULER_TRUSTS_ANYBODY: Final = Trouble(
    "SchedulerTrustsAnybody",
    Severity.WARNING,
    "kube-scheduler takes any certificate: whoever is on the way can answer for the "
    "extender.",
    "set caFile in tlsConfig, and no insecure",
)
SCHEDULER_NAME_UNKNOWN: Final = Trouble(
    "SchedulerNameUnknown",
    Severity.ERROR,
    "The webhook writes, or takes for ours, a schedulerName that is no profile of "
    "kube-scheduler's configuration: such pods stay pending without a word.",
    "let --scheduler-name and profiles[].schedulerName agree",
)
SCHEDULER_SHARES_LEASE: Final = Trouble(
    "SchedulerSharesLease",
    Severity.ERROR,
    "The GPU scheduler elects its leader by the default scheduler's lease: only one "
    "of them schedules at a time.",
    "leaderElection.resourceName: gpu-scheduler",
)
RESOURCE_NOT_MANAGED: Final = Trouble(
    "ResourceNotManaged",
    Severity.ERROR,
    "Nodes have cards of a kind whose count is not in managedResources: the extender "
    "is never asked about its pods, and they are bound without cards.",
    "add the resource to managedResources (docs/vendors.md)",
)
RESOURCE_NOT_IGNORED: Final = Trouble(
    "ResourceNotIgnored",
    Severity.ERROR,
    "kube-scheduler looks for a resource itself that no node reports: a pod that "
    "names it fits nowhere.",
    "add it to managedResources with ignoredByScheduler: true",
)
RESOURCE_MANAGED_TWICE: Final = Trouble(
    "ResourceManagedTwice",
    Severity.ERROR,
    "Two extenders are asked about the same cards. kube-scheduler takes one that "
    "binds; two that do not know of each other give the same memory twice.",
    "take the stanza of the other out (docs/migrating.md)",
)
COUNT_IGNORED: Final = Trouble(
    "CountIgnoredByScheduler",
    Severity.NOTE,
    "kube-scheduler does not look at the number of device ids that nodes have left: "
    "it asks about nodes without any, and preemption cannot free some.",
    "ignoredByScheduler: false for the count resource",
)
VERSION_TOO_OLD: Final = Trouble(
    "VersionTooOld",
    Severity.ERROR,
    "The API server is older than Kubernetes 1.30: it knows no match conditions of "
    "webhooks and no ValidatingAdmissionPolicy of v1.",
    "upgrade the cluster, or do without webhooks and guards (docs/install.md)",
)
VERSION_SKEW: Final = Trouble(
    "VersionSkew",
    Severity.WARNING,
    "kube-scheduler is newer than the API server, or more than one minor version "
    "older: Kubernetes does not support that.",
    "give the Deployment the image of kube-scheduler of your cluster's version",
)
VERSION_UNTRIED: Final = Trouble(
    "VersionUntried",
    Severity.NOTE,
    "The cluster is newer than the Kubernetes that this version was tested with.",
    "see CHANGELOG.md for a newer version",
)
WEBHOOK_MISSING: Final = Trouble(
    "WebhookMissing",
    Severity.WARNING,
    "No webhook of ours asks about new pods: they get no schedulerName and no default "
    "count, and may be bound by the default scheduler without cards.",
    "kubectl apply -f manifests/base/webhook.yaml (docs/admission.md)",
)
WEBHOOK_FOREIGN: Final = Trouble(
    "WebhookForeign",
    Severity.WARNING,
    "HAMi's webhook is installed beside ours: it may give pods to HAMi's scheduler.",
    "take HAMi's scheduler and webhook away (docs/migrating.md)",
)
WEBHOOK_WITHOUT_CA: Final = Trouble(
    "WebhookWithoutCa",
    Severity.ERROR,
    "A webhook has no caBundle, so the API server cannot know the extender: each call "
    "fails, and by failurePolicy the pod with it.",
    "gpu-extender certificate writes it, or cert-manager's injector (docs/install.md)",
)
WEBHOOK_CA_UNREADABLE: Final = Trouble(
    "WebhookCaUnreadable",
    Severity.ERROR,
    "A webhook's caBundle holds no certificate that can be read.",
    "write it anew: base64 of the CA in PEM; gpu-extender certificate does so",
)
WEBHOOK_CA_DIFFERS: Final = Trouble(
    "WebhookCaDiffers",
    Severity.ERROR,
    "No authority of a webhook's caBundle signed the certificate that is served: each "
    "call fails, and by failurePolicy the pod with it.",
    "gpu-extender certificate, or see why cert-manager's injector did not write it",
)
WEBHOOK_CA_ENDED: Final = Trouble(
    "WebhookCaEnded",
    Severity.ERROR,
    "All authorities of a webhook's caBundle have expired, or do not begin yet.",
    "gpu-extender certificate makes a new certificate with its authority",
)
WEBHOOK_UNREACHABLE: Final = Trouble(
    "WebhookUnreachable",
    Severity.ERROR,
    "A webhook leads to a Service, a port or a path where nobody answers: each call "
    "fails, and by failurePolicy the pod with it.",
    "compare with manifests/base/webhook.yaml and service.yaml; kubectl -n "
    "gpu-extender get endpointslices",
)
WEBHOOK_FAILS_OPEN: Final = Trouble(
    "WebhookFailsOpen",
    Severity.WARNING,
    "While the extender does not answer, pods are created unchanged: they come to the "
    "default scheduler, and are bound without cards of their own.",
    "failurePolicy: Fail for the webhook that changes pods (docs/admission.md)",
)
WEBHOOK_STOPS_QUOTA_PODS: Final = Trouble(
    "WebhookStopsQuotaPods",
    Severity.WARNING,
    "The webhook that asks about quotas refuses pods while the extender does not "
    "answer, though filter and bind keep them within their quotas in any case.",
    "failurePolicy: Ignore for /validate",
)
WEBHOOK_ASKS_ABOUT_EVERY_POD: Final = Trouble(
    "WebhookAsksAboutEveryPod",
    Severity.WARNING,
    "A webhook without match conditions is called for every pod of the cluster, so "
    "that its failure stops all of them, ours too.",
    "take over matchConditions of manifests/base/webhook.yaml",
)
WEBHOOK_LEAVES_RESOURCE_OUT: Final = Trouble(
    "WebhookLeavesResourceOut",
    Severity.WARNING,
    "Nodes have cards of a kind that a webhook's match conditions do not name: its "
    "pods are not changed, and may be bound by the default scheduler without cards.",
    "add its resources to matchConditions (docs/admission.md#other-kinds-of-device)",
)
WEBHOOK_NARROWS_NAMESPACES: Final = Trouble(
    "WebhookNarrowsNamespaces",
    Severity.NOTE,
    "A webhook asks about pods of some namespaces only; others' are not changed.",
    "nothing, where that is meant; else take the requirement out",
)
GUARD_MISSING: Final = Trouble(
    "GuardMissing",
    Severity.WARNING,
    "A guard is not installed, or nothing binds it: whoever may patch pods or nodes "
    "can take cards that others hold.",
    "kubectl apply -k manifests/guard (docs/guarding.md)",
)
GUARD_ONLY_TELLS: Final = Trouble(
    "GuardOnlyTells",
    Severity.NOTE,
    "A guard warns and does not deny.",
    "validationActions: [Deny], once it warns of nothing any more (docs/guarding.md)",
)
GUARD_WITHOUT_PARAMETERS: Final = Trouble(
    "GuardWithoutParameters",
    Severity.WARNING,
    "The ConfigMap that the guards go by is missing: nothing is guarded.",
    "kubectl apply -f manifests/guard/parameters.yaml",
)
GUARD_REFUSES_US: Final = Trouble(
    "GuardRefusesUs",
    Severity.ERROR,
    "The extender's account is not among those that a guard lets write: each bind and "
    "each lock is refused.",
    "add it to accounts and schedulers of ConfigMap gpu-extender-guard",
)
GUARD_LEAVES_RESOURCE_OUT: Final = Trouble(
    "GuardLeavesResourceOut",
    Severity.WARNING,
    "Nodes have cards of a kind that the guard of schedulers does not know: such pods "
    "may name their node themselves.",
    "add its count resource to countResources of ConfigMap gpu-extender-guard",
)
CERTIFICATE_ENDED: Final = Trouble(
    "CertificateEnded",
    Severity.ERROR,
    "A certificate that is served has expired, or does not begin yet: clients refuse "
    "the extender.",
    "renew it (docs/runbooks.md#gpuextendercertificateends); a new file is served "
    "from the next connection on",
)
CERTIFICATE_ENDS_SOON: Final = Trouble(
    "CertificateEndsSoon",
    Severity.WARNING,
    "A certificate that is served ends within a week.",
    "see why it was not renewed (docs/runbooks.md#gpuextendercertificateends)",
)
CERTIFICATE_OF_OTHER_NAME: Final = Trouble(
    "CertificateOfOtherName",
    Severity.ERROR,
    "A certificate is not for the name that its clients ask for: they refuse the "
    "extender.",
    "make one for that name; gpu-extender certificate does so for the webhook",
)
CERTIFICATE_KEY_DIFFERS: Final = Trouble(
    "CertificateKeyDiffers",
    Severity.ERROR,
    "A certificate and the key beside it are not a pair. What was read last goes on "
    "to be served until a restart, which then fails.",
    "replace both together",
)

INSTALLATION_CATALOGUE: Final = (
    SCHEDULER_LACKS_EXTENDER,
    SCHEDULER_ASKS_ELSEWHERE,
    SCHEDULER_ASKS_UNKNOWN_PATH,
    SCHEDULER_BINDS_ITSELF,
    SCHEDULER_DOES_NOT_SCORE,
    SCHEDULER_TIMEOUT_TOO_SHORT,
    SCHEDULER_SENDS_WHOLE_NODES,
    SCHEDULER_SAMPLES_NODES,
    SCHEDULER_SCHEME_DIFFERS,
    SCHEDULER_SHOWS_NO_CERTIFICATE,
    SCHEDULER_TRUSTS_ANYBODY,
    SCHEDULER_NAME_UNKNOWN,
    SCHEDULER_SHARES_LEASE,
    RESOURCE_NOT_MANAGED,
    RESOURCE_NOT_IGNORED,
    RESOURCE_MANAGED_TWICE,
    COUNT_IGNORED,
    VERSION_TOO_OLD,
    VERSION_SKEW,
    VERSION_UNTRIED,
    WEBHOOK_MISSING,
    WEBHOOK_FOREIGN,
    WEBHOOK_WITHOUT_CA,
    WEBHOOK_CA_UNREADABLE,
    WEBHOOK_CA_DIFFERS,
    WEBHOOK_CA_ENDED,
    WEBHOOK_UNREACHABLE,
    WEBHOOK_FAILS_OPEN,
    WEBHOOK_STOPS_QUOTA_PODS,
    WEBHOOK_ASKS_ABOUT_EVERY_POD,
    WEBHOOK_LEAVES_RESOURCE_OUT,
    WEBHOOK_NARROWS_NAMESPACES,
    GUARD_MISSING,
    GUARD_ONLY_TELLS,
    GUARD_WITHOUT_PARAMETERS,
    GUARD_REFUSES_US,
    GUARD_LEAVES_RESOURCE_OUT,
    CERTIFICATE_ENDED,
    CERTIFICATE_ENDS_SOON,
    CERTIFICATE_OF_OTHER_NAME,
    CERTIFICATE_KEY_DIFFERS,
)
"""In the order of the pages."""
