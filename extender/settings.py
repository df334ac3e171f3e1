"""Typed settings, by topic."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from extender.core.device_policy import SPREAD_CARDS, DevicePolicy
from extender.core.kind_set import Kinds
from extender.core.kinds import NVIDIA, Kind
from extender.core.model import Policy, Release
from extender.core.policies import Burst
from extender.errors import SettingsError
from extender.verbs.exact import Mode
from extender.wire.label_selector import EVERYTHING, LabelSelector
from extender.wire.pods import PodReader

MIB: Final = 1024 * 1024
_LAST_PORT: Final = 65_535
_LONGEST_PORT: Final = len(str(_LAST_PORT))


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulingSettings:
    """How requests are read, and which of several fitting places is preferred."""

    kinds: tuple[Kind, ...] = (NVIDIA,)
    """Names and defaults of the kinds of device that are scheduled."""

    device_policy: DevicePolicy = SPREAD_CARDS
    """For pods that name no card policy, and the weights of all that name none.
    HAMi's default."""

    node_policy: Policy = Policy.BINPACK
    """For pods that name no node policy. HAMi's default."""

    release: Release = Release.AFTER_INIT
    """For pods that name none. What a bound pod was charged by is written on it, so
    another setting counts for pods that are bound from then on."""

    burst: Burst = Burst.PACKING
    """Whether a burst of pods waits for the best node's lock, or goes to others."""

    mode: Mode = Mode.SCORED
    """Whether filter returns every node that fits, or one. HAMi's returns one; then
    kube-scheduler's own scores do not count."""

    node_selector: LabelSelector = EVERYTHING
    """Which nodes are scheduled here. Of others no card counts, so whoever else binds
    pods there cannot disagree with us on what is free."""

    def reader(self) -> PodReader:
        """Give what reads pods by these settings."""
        return PodReader(
            Kinds(self.kinds), self.device_policy, self.node_policy, self.release
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BindSettings:
    """How long a bind waits, and when it counts as lost."""

    lock_wait_seconds: float = 20.0
    """How long a bind waits for its node's lock. Below kube-scheduler's httpTimeout of
    30 s by the time that the reads and writes around it may take."""

    longest_bind_seconds: float = 60.0
    """Longer than any bind can last. A lock whose pod is unbound is taken over once it
    has stood unchanged for longer; HAMi's own binds give up after 28 s."""

    admission_seconds: float = 5.0
    """How long kubelet may still be at the admission of a pod that is gone. Its device
    plugin would serve it the rows of whichever pod the lock names by then."""

    settle_seconds: float = 60.0
    """When to read a pod whose Binding was sent but which is not seen bound; until the
    answer is known, its place stays reserved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WakingSettings:
    """When a refused pod is touched, so that kube-scheduler asks again."""

    look_seconds: float = 1.0
    """How often to look for room that appeared."""

    patience_seconds: float = 5.0
    """How long kube-scheduler is given to ask by itself, once there is room. It mostly
    does so within a second of the event."""

    most_per_look: int = 5
    """Pods touched at most each time. One that is bound makes kube-scheduler try all
    others again, so few are needed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaSettings:
    """How extenders take turns in a namespace whose quota limits devices."""

    lease_seconds: float = 30.0
    """How long a lease lasts without being renewed. Where its holder was killed, so
    long no other binds pods of the namespace. It is renewed once half of it is over,
    by the next bind."""

    send_margin_seconds: float = 10.0
    """A Binding is sent only if the lease lasts for so much longer: twice as long as
    we wait for its answer."""

    least_seconds: float = 2.0
    """How long a lease is kept at least before it is handed over, so that it serves
    many binds where two extenders have pods of the namespace all the time."""

    look_seconds: float = 1.0
    """How often whoever holds leases looks whether another asks for one."""

    poll_seconds: float = 0.2
    """How often whoever asks for one looks whether it is there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KubeSettings:
    """How an API server is read."""

    lease_namespace: str = ""
    """Where the leases of `QuotaSettings` are kept; must be the same for all extenders
    of a cluster. Empty for the namespace of the pod that this runs in, and outside of
    any pod for kube-system, which every cluster has."""

    page_size: int = 500
    """Objects per page of a list. 500 pods are about 5 MB and 20 ms of decoding."""

    request_seconds: float = 5.0
    """Longest single read or write of one object, and list of one node's pods."""

    watch_moment_seconds: float = 2.0
    """A pod watch is busy while it told twenty changes within so long. Then a bind
    waits for it to be as new as its lock, up to the deadline of that lock: where the
    API server is behind with its watches, its lists wait for the same. Otherwise the
    node's pods are listed."""

    page_seconds: float = 60.0
    """Longest page of a list."""

    watch_seconds: float = 300.0
    """How long a watch is asked to last; each is asked for up to half longer, so that
    not all of a fleet's end at once."""

    idle_seconds: float = 90.0
    """A watch that shows nothing for this long is cut and taken up again where it
    stopped; after the second, all is listed. Bookmarks come about once a minute."""

    first_backoff_seconds: float = 0.2
    """Pause after a first failure; it doubles with each further one."""

    longest_backoff_seconds: float = 30.0
    """Longest pause between tries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsSettings:
    """Who a listener says that it is, and whom it lets in. All files are PEM."""

    cert_file: Path
    """Our certificate, and those between it and the CA."""

    key_file: Path
    """Its private key, not encrypted."""

    client_ca_file: Path | None = None
    """Certificates of which one must have signed a client's. Without it, anybody who
    reaches the port can bind."""

    client_names: frozenset[str] = frozenset()
    """Of which a client's certificate must have one; empty for any that the client CA
    signed. A CA often signs for more than kube-scheduler."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpSettings:
    """The door."""

    host: str = "127.0.0.1"
    """Address to listen on. Loopback, since bind can be called by whoever reaches
    it."""

    port: int = 8080
    """TCP port; 0 takes a free one."""

    tls: TlsSettings | None = None
    """None serves plain HTTP."""

    body_limit_bytes: int = 64 * MIB
    """Largest request body. 2,000 full Node objects of 15 kB are 30 MB; above the
    limit the answer is 413, since a body that is cut short would be a wrong one."""

    keepalive_seconds: float = 120.0
    """How long an idle connection is kept. Go's client drops its own after 90 s; a
    server that drops first makes it fail a request now and then."""

    shutdown_seconds: float = 10.0
    """How long open requests may take once the process was told to stop."""

    pod_limit_bytes: int = 1 * MIB
    """Largest body of POST /pods. etcd takes 1.5 MiB; YAML takes seconds per MiB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings of one process."""

    http: HttpSettings = field(default_factory=HttpSettings)
    scheduling: SchedulingSettings = field(default_factory=SchedulingSettings)
    bind: BindSettings = field(default_factory=BindSettings)
    waking: WakingSettings = field(default_factory=WakingSettings)
    quota: QuotaSettings = field(default_factory=QuotaSettings)
    kube: KubeSettings = field(default_factory=KubeSettings)

    device_config: Path | None = None
    """Where the kinds of device come from; followed while serving. None for those of
    `scheduling`, for good."""

    audit_seconds: float = 300.0
    """Between two audits. One takes about a second of a large cluster's time, in steps
    of a few milliseconds."""


def tls_settings(
    cert_file: Path | None,
    key_file: Path | None,
    client_ca_file: Path | None,
    client_names: Iterable[str],
) -> TlsSettings | None:
    """Put the flags of TLS together; None where none is given.

    Raises:
        SettingsError: One is missing that another needs.
    """
    names = frozenset(client_names)
    if cert_file is not None and key_file is not None:
        if names and client_ca_file is None:
            raise SettingsError("--client-name needs --client-ca: who vouches for it?")
        return TlsSettings(
            cert_file=cert_file,
            key_file=key_file,
            client_ca_file=client_ca_file,
            client_names=names,
        )
    if cert_file is not None or key_file is not None:
        raise SettingsError("--tls-cert and --tls-key go together: one is missing")
    if client_ca_file is not None or names:
        raise SettingsError(
            "--client-ca and --client-name need --tls-cert and --tls-key: plain HTTP "
            "has no client certificates"
        )
    return None


def http_settings(listen: str, tls: TlsSettings | None = None) -> HttpSettings:
    """Read ``HOST:PORT``; an IPv6 host stands in brackets.

    Raises:
        SettingsError: There is no host, or the port is no number from 0 to 65535.

    Example:
        >>> http_settings("[::1]:8080").host
        '::1'
    """
    host, _, port = listen.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    is_number = port.isascii() and port.isdigit() and len(port) <= _LONGEST_PORT
    if not host or not is_number or int(port) > _LAST_PORT:
        raise SettingsError(
            f"--listen {listen!r}: expected HOST:PORT, such as 127.0.0.1:8080"
        )
    return HttpSettings(host=host, port=int(port), tls=tls)
