"""kube-scheduler's configuration, held against how the extender serves."""

from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from extender.core.kinds import Kind
from extender.verbs.diagnosis import Diagnosis
from extender.verbs.installation.catalogue import (
    COUNT_IGNORED,
    RESOURCE_MANAGED_TWICE,
    RESOURCE_NOT_IGNORED,
    RESOURCE_NOT_MANAGED,
    SCHEDULER_ASKS_ELSEWHERE,
    SCHEDULER_ASKS_UNKNOWN_PATH,
    SCHEDULER_BINDS_ITSELF,
    SCHEDULER_DOES_NOT_SCORE,
    SCHEDULER_LACKS_EXTENDER,
    SCHEDULER_NAME_UNKNOWN,
    SCHEDULER_SAMPLES_NODES,
    SCHEDULER_SCHEME_DIFFERS,
    SCHEDULER_SENDS_WHOLE_NODES,
    SCHEDULER_SHARES_LEASE,
    SCHEDULER_SHOWS_NO_CERTIFICATE,
    SCHEDULER_TIMEOUT_TOO_SHORT,
    SCHEDULER_TRUSTS_ANYBODY,
)
from extender.verbs.installation.documents import (
    Demand,
    ExtenderStanza,
    SchedulerConfiguration,
    Served,
)

_NEEDED_VERBS: Final = ("filterVerb", "bindVerb")
_SCORE_VERB: Final = "prioritizeVerb"
_ALL_NODES: Final = 100
"""Percent; and below so many nodes, kube-scheduler always looks at all."""

_DEFAULT_SCHEDULER: Final = "default-scheduler"
_DEFAULT_LEASE: Final = ("kube-system", "kube-scheduler")
_PORTS: Final = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Target:
    """Where a ``urlPrefix`` leads.

    Attributes:
        scheme: ``http`` or ``https``.
        host: Without brackets, in lower case.
        port: That of the scheme where none is written.
        path: Without a slash at its end.
    """

    scheme: str
    host: str
    port: int
    path: str

    @classmethod
    def of(cls, url_prefix: str) -> "Target | None":
        """Read it; None where it is no URL of a server."""
        try:
            parts = urlsplit(url_prefix)
            port = parts.port
        except ValueError:
            return None
        if parts.scheme not in _PORTS or not parts.hostname:
            return None
        port = _PORTS[parts.scheme] if port is None else port
        return cls(parts.scheme, parts.hostname, port, parts.path.rstrip("/"))


def check_scheduler(
    read: SchedulerConfiguration, served: Served, demand: Demand
) -> Iterator[Diagnosis]:
    """Tell where kube-scheduler's configuration and the extender do not agree."""
    about = read.source
    stanza = stanza_of(read, served, demand)
    yield from _check_names(read, served)
    if stanza is None:
        asked = ", ".join(each.url_prefix for each in read.extenders) or "none"
        wanted = ", ".join(each.count_resource for each in _concerned(demand))
        yield SCHEDULER_LACKS_EXTENDER.found(
            about,
            "no extender is asked about cards",
            f"extenders: {asked}",
            f"wanted in managedResources: {wanted}",
        )
        return
    yield from _check_address(about, stanza, served)
    yield from _check_verbs(about, stanza, served)
    yield from _check_tls(about, stanza, served)
    yield from _check_resources(read, stanza, demand)
    if stanza.timeout_seconds <= served.lock_wait_seconds:
        yield SCHEDULER_TIMEOUT_TOO_SHORT.found(
            about,
            "it gives up on binds that still wait",
            f"httpTimeout: {stanza.timeout_seconds:g} s",
            f"a bind waits up to {served.lock_wait_seconds:g} s for its node's lock",
        )
    if not stanza.sends_names:
        yield SCHEDULER_SENDS_WHOLE_NODES.found(
            about, "it sends whole nodes", "nodeCacheCapable: false"
        )
    if demand.node_count >= _ALL_NODES and read.percentage_of_nodes != _ALL_NODES:
        yield SCHEDULER_SAMPLES_NODES.found(
            about,
            "it sends a part of the nodes",
            f"percentageOfNodesToScore: {read.percentage_of_nodes or 'not set'}",
            f"nodes: {demand.node_count}",
        )


def stanza_of(
    read: SchedulerConfiguration, served: Served, demand: Demand
) -> ExtenderStanza | None:
    """Find the stanza that means us: by its address, else by its resources."""
    asked = [each for each in read.extenders if _asks_about_cards(each, demand)]
    for each in asked:
        target = Target.of(each.url_prefix)
        if target is not None and _leads_here(target, served):
            return each
    return asked[0] if asked else None


def _concerned(demand: Demand) -> list[Kind]:
    """Give the kinds that nodes have, or all where none has any."""
    present = [each for each in demand.kinds if each.type_word in demand.present]
    return present or [*demand.kinds]


def _asks_about_cards(stanza: ExtenderStanza, demand: Demand) -> bool:
    names = {each.name for each in stanza.managed}
    return not names or any(name in demand.kinds.by_resource for name in names)


def _leads_here(target: Target, served: Served) -> bool:
    """Whether an address may be ours: of another host's, only its port is known.

    A Service may give any port; so only what says loopback can be told to be wrong.
    """
    if not is_loopback(target.host):
        return not is_loopback(served.host)
    return target.port == served.port


def is_loopback(host: str) -> bool:
    """Tell whether a host can only be this machine.

    Example:
        >>> [is_loopback(each) for each in ("127.0.0.1", "::1", "localhost", "a.svc")]
        [True, True, True, False]
    """
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _check_names(read: SchedulerConfiguration, served: Served) -> Iterator[Diagnosis]:
    missing = [each for each in served.scheduler_names if each not in read.profiles]
    if missing:
        yield SCHEDULER_NAME_UNKNOWN.found(
            read.source,
            f"it has no profile {', '.join(missing)}",
            f"profiles: {', '.join(read.profiles) or 'none'}",
            f"--scheduler-name: {', '.join(served.scheduler_names)}",
        )
    is_default = _DEFAULT_SCHEDULER in read.profiles
    if read.lease == _DEFAULT_LEASE and not is_default:
        yield SCHEDULER_SHARES_LEASE.found(
            read.source,
            "its lease is that of the default scheduler",
            f"leaderElection: {'/'.join(read.lease)}",
        )


def _check_address(
    about: str, stanza: ExtenderStanza, served: Served
) -> Iterator[Diagnosis]:
    target = Target.of(stanza.url_prefix)
    prefix = f"urlPrefix: {stanza.url_prefix or 'empty'}"
    if target is None:
        yield SCHEDULER_ASKS_ELSEWHERE.found(
            about, "urlPrefix is no http:// or https:// URL", prefix
        )
    elif not _leads_here(target, served):
        host = f"[{served.host}]" if ":" in served.host else served.host
        yield SCHEDULER_ASKS_ELSEWHERE.found(
            about,
            "it asks where the extender does not listen",
            prefix,
            f"--listen: {host}:{served.port}",
        )


def _check_verbs(
    about: str, stanza: ExtenderStanza, served: Served
) -> Iterator[Diagnosis]:
    missing = [each for each in _NEEDED_VERBS if each not in stanza.verbs]
    if missing or stanza.is_ignorable:
        told = [f"{each}: not set" for each in missing]
        if stanza.is_ignorable:
            told.append("ignorable: true")
        yield SCHEDULER_BINDS_ITSELF.found(
            about, "pods can be bound without the extender", *told
        )
    if _SCORE_VERB not in stanza.verbs:
        yield SCHEDULER_DOES_NOT_SCORE.found(
            about, "it asks for no scores", f"{_SCORE_VERB}: not set"
        )
    target = Target.of(stanza.url_prefix)
    if target is None:
        return
    for field, verb in stanza.verbs.items():
        path = f"{target.path}/{verb}"
        if path not in served.verb_paths:
            yield SCHEDULER_ASKS_UNKNOWN_PATH.found(
                about,
                f"{field} leads to {path}, which is not served",
                f"urlPrefix: {stanza.url_prefix}, {field}: {verb}",
                f"served: {', '.join(sorted(served.verb_paths))}",
            )


def _check_tls(
    about: str, stanza: ExtenderStanza, served: Served
) -> Iterator[Diagnosis]:
    target = Target.of(stanza.url_prefix)
    if target is None:
        return
    is_https = target.scheme == "https"
    if is_https != served.has_tls:
        yield SCHEDULER_SCHEME_DIFFERS.found(
            about,
            f"it speaks {target.scheme}",
            f"urlPrefix: {stanza.url_prefix}",
            f"--listen is served over {'TLS' if served.has_tls else 'plain HTTP'}",
        )
        return
    if not is_https:
        return
    if served.asks_certificate and not stanza.has_certificate:
        yield SCHEDULER_SHOWS_NO_CERTIFICATE.found(
            about, "it shows no certificate", "tlsConfig: no certFile, no certData"
        )
    if stanza.trusts_anybody:
        yield SCHEDULER_TRUSTS_ANYBODY.found(
            about,
            "it takes any certificate of the extender",
            "tlsConfig: insecure, or enableHTTPS without caFile and caData",
        )


def _check_resources(
    read: SchedulerConfiguration, stanza: ExtenderStanza, demand: Demand
) -> Iterator[Diagnosis]:
    about = read.source
    managed = {each.name: each for each in stanza.managed}
    for kind in _concerned(demand):
        count = managed.get(kind.count_resource)
        if managed and count is None and kind.type_word in demand.present:
            yield RESOURCE_NOT_MANAGED.found(
                about,
                f"{kind.count_resource} is not in managedResources",
                f"nodes have {kind.type_word} cards",
            )
            continue
        if count is not None and count.is_ignored:
            yield COUNT_IGNORED.found(
                about,
                f"{kind.count_resource} is ignored by kube-scheduler",
                "ignoredByScheduler: true",
            )
        if managed and count is None:
            continue
        for name in _looked_for(kind, demand):
            each = managed.get(name)
            if each is None or not each.is_ignored:
                how = "missing" if each is None else "ignoredByScheduler: false"
                yield RESOURCE_NOT_IGNORED.found(
                    about,
                    f"kube-scheduler looks for {name}, which no node reports",
                    f"managedResources {name}: {how}",
                )
    for other in read.extenders:
        shared = sorted(
            {each.name for each in other.managed}
            & managed.keys()
            & demand.kinds.by_resource.keys()
        )
        if other is not stanza and shared:
            yield RESOURCE_MANAGED_TWICE.found(
                about,
                f"{other.url_prefix} is asked about the same cards",
                f"both manage {', '.join(shared)}",
            )


def _looked_for(kind: Kind, demand: Demand) -> list[str]:
    """List a kind's resources besides its count that no node reports."""
    named = (*kind.resources[1:], kind.admission.priority_resource)
    return [name for name in named if name and name not in demand.reported]
