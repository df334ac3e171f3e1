"""What is installed around the extender, reduced to what is checked."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from extender.core.kind_set import Kinds
from extender.core.names import KindWord


@dataclass(frozen=True, slots=True)
class ManagedResource:
    """A resource whose pods kube-scheduler sends to an extender.

    Attributes:
        name: Of the resource.
        is_ignored: ``ignoredByScheduler``: kube-scheduler does not look for it itself.
    """

    name: str
    is_ignored: bool = False


@dataclass(frozen=True, slots=True)
class ExtenderStanza:
    """One of ``extenders`` in a KubeSchedulerConfiguration.

    Attributes:
        url_prefix: As it is written.
        verbs: What is appended to it, by field, such as ``filterVerb``; those that are
            empty are not there.
        managed: Empty for all pods.
        is_ignorable: Whether pods are placed without it while it does not answer.
        sends_names: ``nodeCacheCapable``.
        timeout_seconds: ``httpTimeout``, or kube-scheduler's default.
        enables_https: ``enableHTTPS``.
        trusts_anybody: Whether any certificate of the server will do.
        has_certificate: Whether it shows one of its own.
        server_name: That the server's certificate must have; empty for the host.
    """

    url_prefix: str
    verbs: Mapping[str, str] = field(default_factory=dict, hash=False)
    managed: tuple[ManagedResource, ...] = ()
    is_ignorable: bool = False
    sends_names: bool = False
    timeout_seconds: float = 5.0
    enables_https: bool = False
    trusts_anybody: bool = False
    has_certificate: bool = False
    server_name: str = ""


@dataclass(frozen=True, slots=True)
class SchedulerConfiguration:
    """A KubeSchedulerConfiguration.

    Attributes:
        source: Where it was read: a file, or a ConfigMap and its key.
        profiles: Names of its schedulers.
        extenders: In the order in which they are asked.
        percentage_of_nodes: ``percentageOfNodesToScore``; 0 for kube-scheduler's own
            choice.
        lease: Namespace and name of the lease by which several elect a leader; None
            where they do not.
    """

    source: str
    profiles: tuple[str, ...]
    extenders: tuple[ExtenderStanza, ...]
    percentage_of_nodes: int = 0
    lease: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Served:
    """How the extender serves, by its own flags.

    Attributes:
        host: Of ``--listen``.
        port: The same.
        has_tls: Whether the verbs are served over TLS.
        asks_certificate: Whether clients must show one.
        verb_paths: Served to kube-scheduler, with their slash.
        webhook_paths: Served to the API server.
        webhook_port: Of the container.
        scheduler_names: Of the schedulers that ask it; the first is written into pods.
        lock_wait_seconds: How long a bind may wait.
        namespace: Where it runs.
        account: Its user name at the API server.
        certificate_file: Of ``--tls-cert``; empty without TLS.
        key_file: Of ``--tls-key``.
    """

    host: str = "127.0.0.1"
    port: int = 8080
    has_tls: bool = False
    asks_certificate: bool = False
    verb_paths: frozenset[str] = frozenset(("/filter", "/prioritize", "/bind"))
    webhook_paths: frozenset[str] = frozenset(("/webhook", "/validate"))
    webhook_port: int = 9443
    scheduler_names: tuple[str, ...] = ("gpu-scheduler",)
    lock_wait_seconds: float = 20.0
    namespace: str = "gpu-extender"
    account: str = "system:serviceaccount:gpu-extender:gpu-extender"
    certificate_file: str = ""
    key_file: str = ""


@dataclass(frozen=True, slots=True)
class Demand:
    """What the cluster's nodes and pods are about.

    Attributes:
        kinds: That are scheduled.
        present: Words of those that some node has cards of.
        reported: Resources that some node has as allocatable.
        node_count: Nodes of the cluster.
    """

    kinds: Kinds
    present: frozenset[KindWord] = frozenset()
    reported: frozenset[str] = frozenset()
    node_count: int = 0


@dataclass(frozen=True, slots=True)
class Version:
    """A version of Kubernetes, such as ``v1.36.3``."""

    text: str
    major: int
    minor: int


@dataclass(frozen=True, slots=True)
class CertificateSeen:
    """The first certificate of a PEM text, with what stands beside it.

    Attributes:
        where: Such as ``secret gpu-extender/gpu-extender-tls``.
        dns_names: That it is for.
        addresses: IP addresses that it is for.
        begins: Unix seconds.
        ends: Unix seconds.
        is_authority: Whether it may sign others.
        matches_key: Whether the key beside it is its own; None where there is none to
            compare.
    """

    where: str
    dns_names: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    begins: float = 0.0
    ends: float = 0.0
    is_authority: bool = False
    matches_key: bool | None = None


@dataclass(frozen=True, slots=True)
class CaBundle:
    """What a webhook's ``caBundle`` holds.

    Attributes:
        authorities: That could be read; in any order.
        problem: Why nothing could; empty where something was.
        signs_served: Whether one of them signed the certificate that is served; None
            where that certificate is not known.
    """

    authorities: tuple[CertificateSeen, ...] = ()
    problem: str = ""
    signs_served: bool | None = None


@dataclass(frozen=True, slots=True)
class ServiceReference:
    """The Service that a webhook is reached by."""

    namespace: str
    name: str
    port: int
    path: str


@dataclass(frozen=True, slots=True)
class Webhook:
    """One webhook of a configuration.

    Attributes:
        configuration: Name of the configuration.
        name: Of the webhook.
        is_mutating: Whether it may change pods.
        service: None where it is reached by a URL.
        url: Empty where it is reached by a Service.
        bundle: None where there is no ``caBundle``.
        fails_closed: ``failurePolicy: Fail``.
        asks_about_pods: Whether creations of pods are among its rules.
        conditions: Expressions of its match conditions.
        narrows_namespaces: What its namespace selector wants of a namespace besides
            the absence of something; empty where it takes all others.
    """

    configuration: str
    name: str
    is_mutating: bool
    service: ServiceReference | None
    url: str = ""
    bundle: CaBundle | None = None
    fails_closed: bool = True
    asks_about_pods: bool = True
    conditions: tuple[str, ...] = ()
    narrows_namespaces: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ServiceSeen:
    """A Service that webhooks name.

    Attributes:
        namespace: Of the Service.
        name: The same.
        ports: Port and target; the target is a number or a name.
        ready_endpoints: How many addresses answer; None where that was not read.
    """

    namespace: str
    name: str
    ports: tuple[tuple[int, int | str], ...] = ()
    ready_endpoints: int | None = None


@dataclass(frozen=True, slots=True)
class GuardPolicy:
    """A ValidatingAdmissionPolicy of ours, with what its bindings do.

    Attributes:
        name: Of the policy.
        actions: Of all bindings, such as ``Deny``; empty where none binds it.
        parameters: Namespace and name of the ConfigMap by which it goes; None where a
            binding names none.
    """

    name: str
    actions: frozenset[str] = frozenset()
    parameters: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Guards:
    """The guards, and what they go by.

    Attributes:
        policies: Those of ours that are there.
        parameters: Lines of each key of the ConfigMap; None where it is missing.
    """

    policies: tuple[GuardPolicy, ...]
    parameters: Mapping[str, tuple[str, ...]] | None = field(default=None, hash=False)


@dataclass(frozen=True, slots=True)
class Installation:
    """All that was read; what could not be is None, and is not checked.

    Attributes:
        unix_seconds: Now.
        demand: What the cluster is about.
        served: How the extender serves.
        scheduler: kube-scheduler's configuration.
        api_server: Its version.
        kube_scheduler: The version of the kube-scheduler that asks the extender.
        webhooks: Of all configurations that are ours, or ask about pods by HAMi's.
        services: That webhooks name, of those that exist.
        guards: The policies.
        webhook_certificate: That is served to the API server.
        verbs_certificate: That is served to kube-scheduler.
    """

    unix_seconds: float
    demand: Demand
    served: Served | None = None
    scheduler: SchedulerConfiguration | None = None
    api_server: Version | None = None
    kube_scheduler: Version | None = None
    webhooks: tuple[Webhook, ...] | None = None
    services: tuple[ServiceSeen, ...] | None = None
    guards: Guards | None = None
    webhook_certificate: CertificateSeen | None = None
    verbs_certificate: CertificateSeen | None = None
