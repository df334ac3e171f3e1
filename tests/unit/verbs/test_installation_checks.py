"""What the doctor finds in an installation: nothing as shipped, and each slip."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pytest

from extender.core.kind_set import Kinds
from extender.core.kinds import NVIDIA
from extender.kube.certificate import Certificate
from extender.state.events import NodeSeen
from extender.state.ledger import Ledger
from extender.verbs.diagnosis import Severity
from extender.verbs.doctor.catalogue import CATALOGUE
from extender.verbs.installation.catalogue import INSTALLATION_CATALOGUE
from extender.verbs.installation.demand import demand_of
from extender.verbs.installation.documents import (
    Demand,
    Installation,
    Served,
)
from extender.verbs.installation.examination import check_installation
from extender.wire.installation.certificates import read_certificate
from extender.wire.nodes import decode_node
from tests.builders import node
from tests.certificates import Authority
from tests.installed_documents import (
    MADE,
    NAME,
    NOW,
    Changes,
    Json,
    codes,
    examined,
    installation,
)
from tests.shipped import SHIPPED

NODES_ONLY_TELL: Final = "GuardOnlyTells"
"""Of the guard of schedulers, which is shipped so."""


def found(**changes: Any) -> list[str]:  # noqa: ANN401 - fields of Changes
    """Give what is found besides what the shipped guards say of themselves."""
    return codes(each for each in examined(**changes) if each.code != NODES_ONLY_TELL)


def stanza(**fields: object) -> Any:  # noqa: ANN401 - a change
    """Change the extender's stanza; None takes a field out."""

    def change(document: Json) -> None:
        _merge(document["extenders"][0], fields)

    return change


def webhook(**fields: object) -> Any:  # noqa: ANN401 - a change
    """Change a configuration's webhook."""

    def change(document: Json) -> None:
        _merge(document["webhooks"][0], fields)

    return change


def top(**fields: object) -> Any:  # noqa: ANN401 - a change
    """Change a document at its top."""

    def change(document: Json) -> None:
        _merge(document, fields)

    return change


def _merge(into: Json, fields: Json) -> None:
    for key, value in fields.items():
        if value is None:
            into.pop(key, None)
        elif isinstance(value, dict):
            _merge(into.setdefault(key, {}), value)
        else:
            into[key] = value


def managed(*resources: tuple[str, bool]) -> list[Json]:
    """Write managedResources."""
    return [{"name": name, "ignoredByScheduler": flag} for name, flag in resources]


def test_shipped_installation_is_well() -> None:
    """But for the guard of schedulers, which only tells as long as it is new."""
    assert [(each.code, each.about) for each in examined()] == [
        (NODES_ONLY_TELL, "guard gpu-extender-guard-schedulers")
    ]


HAMI: Final = {
    "urlPrefix": "http://127.0.0.1:9090",
    "filterVerb": "filter",
    "bindVerb": "bind",
    "managedResources": managed(("nvidia.com/gpu", True)),
}


def beside(other: Json) -> Any:  # noqa: ANN401 - a change
    """Have another extender asked, too."""
    return lambda document: document["extenders"].append(other)


SCHEDULER: Final = {
    "no extender": (top(extenders=[]), ["SchedulerLacksExtender"]),
    "asked about other resources": (
        stanza(managedResources=managed(("example.com/fpga", False))),
        ["SchedulerLacksExtender"],
    ),
    "another port": (
        stanza(urlPrefix="http://127.0.0.1:8888"),
        ["SchedulerAsksElsewhere"],
    ),
    "another machine, and we are on loopback": (
        stanza(urlPrefix="http://gpu-extender.gpu-extender:8080"),
        ["SchedulerAsksElsewhere"],
    ),
    "no URL": (stanza(urlPrefix="127.0.0.1:8080"), ["SchedulerAsksElsewhere"]),
    "no URL at all": (stanza(urlPrefix=None), ["SchedulerAsksElsewhere"]),
    "by name": (stanza(urlPrefix="http://localhost:8080/"), []),
    "a path": (
        stanza(urlPrefix="http://127.0.0.1:8080/scheduler"),
        ["SchedulerAsksUnknownPath"] * 3,
    ),
    "another verb": (stanza(filterVerb="predicates"), ["SchedulerAsksUnknownPath"]),
    "preempt": (stanza(preemptVerb="preempt"), ["SchedulerAsksUnknownPath"]),
    "no filter": (stanza(filterVerb=None), ["SchedulerBindsItself"]),
    "no bind": (stanza(bindVerb=""), ["SchedulerBindsItself"]),
    "ignorable": (stanza(ignorable=True), ["SchedulerBindsItself"]),
    "no scores": (stanza(prioritizeVerb=None), ["SchedulerDoesNotScore"]),
    "default timeout": (stanza(httpTimeout=None), ["SchedulerTimeoutTooShort"]),
    "short timeout": (stanza(httpTimeout="20s"), ["SchedulerTimeoutTooShort"]),
    "just long enough": (stanza(httpTimeout="20.5s"), []),
    "whole nodes": (stanza(nodeCacheCapable=None), ["SchedulerSendsWholeNodes"]),
    "a sample of nodes": (
        top(percentageOfNodesToScore=None),
        ["SchedulerSamplesNodes"],
    ),
    "TLS where we have none": (
        stanza(urlPrefix="https://127.0.0.1:8080", enableHTTPS=True),
        ["SchedulerSchemeDiffers"],
    ),
    "another profile": (
        top(profiles=[{"schedulerName": "my-scheduler"}]),
        ["SchedulerNameUnknown"],
    ),
    "no profile": (top(profiles=None), ["SchedulerNameUnknown"]),
    "the default scheduler's lease": (
        top(leaderElection={"resourceName": "kube-scheduler"}),
        ["SchedulerSharesLease"],
    ),
    "no election": (
        top(leaderElection={"leaderElect": False, "resourceName": None}),
        [],
    ),
    "only memory is managed": (
        stanza(managedResources=managed(("nvidia.com/gpumem", True))),
        ["ResourceNotManaged"],
    ),
    "all pods": (stanza(managedResources=[]), ["ResourceNotIgnored"] * 4),
    "memory is looked for": (
        stanza(
            managedResources=managed(
                ("nvidia.com/gpu", False),
                ("nvidia.com/gpumem", False),
                ("nvidia.com/gpumem-percentage", True),
                ("nvidia.com/gpucores", True),
            )
        ),
        ["ResourceNotIgnored"] * 2,
    ),
    "the count is ignored": (
        stanza(
            managedResources=managed(
                ("nvidia.com/gpu", True),
                ("nvidia.com/gpumem", True),
                ("nvidia.com/gpumem-percentage", True),
                ("nvidia.com/gpucores", True),
                ("nvidia.com/priority", True),
            )
        ),
        ["CountIgnoredByScheduler"],
    ),
    "HAMi's beside ours": (beside(HAMI), ["ResourceManagedTwice"]),
    "another kind's beside ours": (
        beside({**HAMI, "managedResources": managed(("example.com/fpga", True))}),
        [],
    ),
}


@pytest.mark.parametrize(("change", "wanted"), SCHEDULER.values(), ids=SCHEDULER)
def test_scheduler(change: Any, wanted: list[str]) -> None:  # noqa: ANN401
    """One slip in kube-scheduler's configuration at a time."""
    assert found(scheduler=change) == sorted(wanted)


def test_small_cluster_may_be_sampled() -> None:
    """Below a hundred nodes, kube-scheduler looks at all."""
    assert found(scheduler=top(percentageOfNodesToScore=None), node_count=99) == []


TLS: Final = Served(has_tls=True, asks_certificate=True)
BY_TLS: Final = {"urlPrefix": "https://127.0.0.1:8080", "enableHTTPS": True}
BOTH_SIDES: Final = {"caFile": "ca", "certFile": "crt", "keyFile": "key"}


@pytest.mark.parametrize(
    ("fields", "wanted"),
    [
        ({**BY_TLS, "tlsConfig": BOTH_SIDES}, []),
        ({}, ["SchedulerSchemeDiffers"]),
        (
            {**BY_TLS, "tlsConfig": {"caFile": "ca"}},
            ["SchedulerShowsNoCertificate"],
        ),
        (
            {**BY_TLS, "tlsConfig": {**BOTH_SIDES, "insecure": True}},
            ["SchedulerTrustsAnybody"],
        ),
        (BY_TLS, ["SchedulerShowsNoCertificate", "SchedulerTrustsAnybody"]),
        ({"urlPrefix": "https://127.0.0.1:8080", "tlsConfig": BOTH_SIDES}, []),
    ],
)
def test_scheduler_over_tls(fields: Json, wanted: list[str]) -> None:
    """As kube-scheduler understands its fields."""
    assert found(scheduler=stanza(**fields), served=TLS) == wanted


def test_kinds_that_no_node_has_are_not_missed() -> None:
    """Shipped is NVIDIA alone; a kind of which there are cards must be named."""
    kinds = tuple(SHIPPED.values())
    assert found(kinds=kinds) == []
    present = frozenset(each.type_word for each in kinds)
    missed = [
        each
        for each in examined(kinds=kinds, present=present)
        if each.code == "ResourceNotManaged"
    ]
    assert len(missed) == len(kinds) - 1


@pytest.mark.parametrize(
    ("api_server", "kube_scheduler", "wanted"),
    [
        ("v1.36.0", "v1.35.9", []),
        ("v1.30.14-eks-1", "v1.30.0", []),
        ("v1.29.1", "v1.29.1", ["VersionTooOld"]),
        ("v1.36.3", "v1.37.0", ["VersionSkew"]),
        ("v1.36.3", "v1.34.0", ["VersionSkew"]),
        ("v1.37.0", "v1.36.0", ["VersionUntried"]),
        ("v2.0.0", "v1.36.0", ["VersionSkew", "VersionUntried"]),
    ],
)
def test_versions(api_server: str, kube_scheduler: str, wanted: list[str]) -> None:
    """Kubernetes' version skew policy, and what we need."""
    assert found(api_server=api_server, kube_scheduler=kube_scheduler) == wanted


OTHER: Final = Certificate.made([NAME], NOW)


def bundle(text: str | None) -> Any:  # noqa: ANN401 - a change
    """Change a webhook's caBundle."""
    return webhook(clientConfig={"caBundle": text})


WEBHOOK: Final = {
    "not there": (Json.clear, ["WebhookMissing"]),
    "no caBundle": (bundle(None), ["WebhookWithoutCa"]),
    "empty caBundle": (bundle(""), ["WebhookWithoutCa"]),
    "caBundle is no base64": (bundle("%%%"), ["WebhookCaUnreadable"]),
    "caBundle is no PEM": (bundle("aGVsbG8="), ["WebhookCaUnreadable"]),
    "another path": (
        webhook(clientConfig={"service": {"path": "/mutate"}}),
        ["WebhookUnreachable"],
    ),
    "the path that only judges": (
        webhook(clientConfig={"service": {"path": "/validate"}}),
        ["WebhookUnreachable"],
    ),
    "another port": (
        webhook(clientConfig={"service": {"port": 8443}}),
        ["WebhookUnreachable"],
    ),
    "another Service": (
        webhook(clientConfig={"service": {"name": "extender"}}),
        ["CertificateOfOtherName", "WebhookUnreachable"],
    ),
    "Ignore": (webhook(failurePolicy="Ignore"), ["WebhookFailsOpen"]),
    "every pod": (webhook(matchConditions=None), ["WebhookAsksAboutEveryPod"]),
    "another vendor's pods": (
        webhook(matchConditions=[{"name": "a", "expression": "'amd.com/gpu' in x"}]),
        ["WebhookLeavesResourceOut"],
    ),
    "some namespaces": (
        webhook(namespaceSelector={"matchLabels": {"gpu": "on"}}),
        ["WebhookNarrowsNamespaces"],
    ),
    "HAMi's": (
        lambda document: document["webhooks"].append(
            {**document["webhooks"][0], "name": "vgpu.hami.io"}
        ),
        ["WebhookForeign"],
    ),
}


@pytest.mark.parametrize(("change", "wanted"), WEBHOOK.values(), ids=WEBHOOK)
def test_webhook(change: Any, wanted: list[str]) -> None:  # noqa: ANN401
    """One slip in the webhook that changes pods at a time."""
    assert found(changing=change) == wanted


def test_webhook_of_quotas() -> None:
    """It may be left out, and should not stop pods."""
    assert found(asking=Json.clear) == []
    assert found(asking=webhook(failurePolicy="Fail")) == ["WebhookStopsQuotaPods"]


@pytest.mark.parametrize(
    ("change", "endpoints", "wanted"),
    [
        (Json.clear, 1, ["WebhookUnreachable"] * 2),
        (top(spec={"ports": []}), 1, ["WebhookUnreachable"] * 2),
        (top(spec={"ports": [{"port": 443, "targetPort": 8443}]}), 1, None),
        (top(), 0, ["WebhookUnreachable"] * 2),
        (top(), None, []),
    ],
)
def test_service(change: Any, endpoints: int | None, wanted: Any) -> None:  # noqa: ANN401
    """Whether it is there, has the port, leads to it, and somebody answers."""
    wanted = ["WebhookUnreachable"] * 2 if wanted is None else wanted
    assert found(service=change, endpoints=endpoints) == wanted


def test_ca_bundle_of_another_authority() -> None:
    """As after a certificate that was replaced without its bundle."""
    assert found(certificate=OTHER) == ["WebhookCaDiffers"] * 2


def guard(name: str, **fields: object) -> Any:  # noqa: ANN401 - a change
    """Change one of the guards' objects."""
    return lambda objects: _merge(objects[name], fields)


PODS_BINDING: Final = "ValidatingAdmissionPolicyBinding/gpu-extender-guard-pods"
NODES_POLICY: Final = "ValidatingAdmissionPolicy/gpu-extender-guard-nodes"
LISTS: Final = "ConfigMap/gpu-extender-guard"
DENYING: Final = guard(
    "ValidatingAdmissionPolicyBinding/gpu-extender-guard-schedulers",
    spec={"validationActions": ["Deny"]},
)


def both(*changes: Any) -> Any:  # noqa: ANN401 - changes
    """Make several changes."""
    return lambda objects: [change(objects) for change in changes]


GUARDS: Final = {
    "none": (Json.clear, ["GuardMissing"] * 3),
    "one is missing": (lambda all_of: all_of.pop(NODES_POLICY), ["GuardMissing"]),
    "one is not bound": (lambda all_of: all_of.pop(PODS_BINDING), ["GuardMissing"]),
    "all deny": (DENYING, []),
    "no lists": (lambda all_of: all_of.pop(LISTS), ["GuardWithoutParameters"]),
    "without our account": (
        guard(LISTS, data={"accounts": "somebody"}),
        ["GuardRefusesUs"] * 2,
    ),
    "we are no scheduler, and that is denied": (
        both(DENYING, guard(LISTS, data={"schedulers": "system:kube-scheduler"})),
        ["GuardRefusesUs"],
    ),
    "we are no scheduler, and that is told": (
        guard(LISTS, data={"schedulers": "system:kube-scheduler"}),
        [],
    ),
    "without NVIDIA": (
        guard(LISTS, data={"countResources": "amd.com/gpu"}),
        ["GuardLeavesResourceOut"],
    ),
}


@pytest.mark.parametrize(("change", "wanted"), GUARDS.values(), ids=GUARDS)
def test_guards(change: Any, wanted: list[str]) -> None:  # noqa: ANN401
    """One slip in the guards at a time."""
    assert found(guards=change) == wanted


def test_guard_that_only_tells() -> None:
    """Each by its name."""
    told = examined(guards=guard(PODS_BINDING, spec={"validationActions": ["Warn"]}))
    assert [each.about for each in told if each.code == NODES_ONLY_TELL] == [
        "guard gpu-extender-guard-pods",
        "guard gpu-extender-guard-schedulers",
    ]


@pytest.mark.parametrize(
    ("at", "wanted"),
    [
        (timedelta(days=3_600), []),
        (timedelta(days=3_644), ["CertificateEndsSoon"]),
        (timedelta(days=3_651), ["CertificateEnded", "WebhookCaEnded"]),
        (timedelta(days=-1), ["CertificateEnded", "WebhookCaEnded"]),
    ],
)
def test_certificate_and_time(at: timedelta, wanted: list[str]) -> None:
    """Long before its end, a week before, after it, and before its beginning."""
    assert sorted({*found(at=NOW + at)}) == wanted


def test_certificate_of_another_name() -> None:
    """The API server asks for SERVICE.NAMESPACE.svc."""
    made = Certificate.made(["gpu-extender.default.svc"], NOW)
    assert "CertificateOfOtherName" in found(certificate=made)


def test_certificate_and_key() -> None:
    """They are a pair, or they are not, or the key is none."""
    assert found(key=MADE.key) == []
    assert found(key=OTHER.key) == ["CertificateKeyDiffers"]
    assert found(key=b"no key") == ["CertificateKeyDiffers"]


def test_certificate_for_kube_scheduler(tmp_path: Path) -> None:
    """By the host of urlPrefix, or by serverName where that is written."""
    pair = Authority(tmp_path, "ca").server()
    seen = read_certificate(pair.cert_file.read_bytes(), "--tls-cert")
    for server_name, wanted in (("", []), ("other", ["CertificateOfOtherName"])):
        tls = {**BOTH_SIDES, "serverName": server_name}
        change = stanza(**BY_TLS, tlsConfig=tls)
        changes = Changes(scheduler=change, served=TLS, at=datetime.now(UTC))
        read = installation(changes)
        certificate = Installation(
            read.unix_seconds,
            read.demand,
            TLS,
            read.scheduler,
            verbs_certificate=seen,
        )
        assert codes(check_installation(certificate)) == wanted


def test_what_was_not_read_is_no_trouble() -> None:
    """It is told as not looked at, elsewhere."""
    demand = installation(Changes()).demand
    assert list(check_installation(Installation(0.0, demand))) == []
    assert isinstance(demand, Demand)


def test_every_code_is_found_by_some_test() -> None:
    """A check that is added gets an example here."""
    cases = (*SCHEDULER.values(), *WEBHOOK.values(), *GUARDS.values())
    shown = {code for _, wanted in cases for code in wanted}
    elsewhere = {
        "SchedulerShowsNoCertificate",
        "SchedulerTrustsAnybody",
        "VersionTooOld",
        "VersionSkew",
        "VersionUntried",
        "WebhookCaDiffers",
        "WebhookCaEnded",
        "WebhookStopsQuotaPods",
        "GuardOnlyTells",
        "CertificateEnded",
        "CertificateEndsSoon",
        "CertificateKeyDiffers",
    }
    assert shown | elsewhere == {each.code for each in INSTALLATION_CATALOGUE}


def test_codes_are_each_others_only() -> None:
    """No two kinds of trouble have one code, in the state and around it."""
    every = [each.code for each in (*CATALOGUE, *INSTALLATION_CATALOGUE)]
    assert sorted(every) == sorted({*every})
    assert {each.severity for each in INSTALLATION_CATALOGUE} == {*Severity}


def test_demand_is_what_nodes_have() -> None:
    """Kinds of which a node has cards, alive or not; capacity is reported."""
    kinds = Kinds(SHIPPED.values())
    ledger = Ledger()
    for shown in (node("n1").gpu("GPU-a").allocatable(0), node("n2")):
        ledger.apply(NodeSeen(decode_node(shown.build(), kinds)))
    demand = demand_of(ledger, kinds)
    assert demand.present == {NVIDIA.type_word}
    assert demand.node_count == 2
    assert "nvidia.com/gpumem" not in demand.reported
    assert "cambricon.com/mlu.smlu.vcore" in demand.reported
