"""Typed settings, by topic."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import Final

from extender.core.device_policy import SPREAD_CARDS, DevicePolicy
from extender.core.kind_set import Kinds
from extender.core.kinds import NVIDIA, Kind
from extender.core.pod import Release
from extender.core.pod_request import Policy
from extender.core.policies import Burst
from extender.errors import SettingsError
from extender.observe.pod_events import EventSettings
from extender.verbs.admit import Schedulers
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
class AdmissionSettings:
    """Which pods the admission webhook takes over."""

    scheduler_names: tuple[str, ...] = ("gpu-scheduler",)
    """Of the schedulers that ask this extender; at least one. The first is written into
    pods that ask for devices. The default is that of config/kube-scheduler.yaml."""

    force_overwrite_default_scheduler: bool = True
    """Whether pods of ``default-scheduler`` are taken over. The API server writes that
    name into every pod that has none, so without it only pods that name one of ours are
    looked at. HAMi's default."""

    expected_seconds: float = 30.0
    """How long a pod that was admitted counts against its quotas without being shown.
    Another webhook may have refused it. Longer than the API server takes to write it
    and the watch to show it."""

    @property
    def schedulers(self) -> Schedulers:
        """Whose pods are ours."""
        return Schedulers(self.scheduler_names, self.force_overwrite_default_scheduler)


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
    """How extenders take turns in a namespace whose quota limits devices.

    Raises:
        SettingsError: Waits that no Binding could ever be sent by.
    """

    lease_namespace: str = ""
    """Where the leases are kept; must be the same for all extenders of a cluster. Empty
    for the namespace of the pod that this runs in, and outside of any pod for
    gpu-extender, where manifests/base/rbac.yaml gives the right to write them."""

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

    def __post_init__(self) -> None:
        # A Lease says its length in whole seconds; a bind begins while half are left.
        if self.lease_seconds < 1 or self.send_margin_seconds >= self.lease_seconds / 2:
            raise SettingsError(
                f"lease_seconds {self.lease_seconds}: expected 1 or more, and more "
                f"than twice send_margin_seconds, {self.send_margin_seconds}"
            )
        if self.least_seconds > self.lease_seconds:
            raise SettingsError(
                f"least_seconds {self.least_seconds}: expected no more than "
                f"lease_seconds, {self.lease_seconds}"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class KubeSettings:
    """How an API server is read."""

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


class Part(Enum):
    """What is served; the last two may have an address of their own."""

    VERBS = "verbs"
    WEBHOOK = "webhook"
    METRICS = "health and metrics"


@dataclass(frozen=True, slots=True)
class Address:
    """Where to listen."""

    host: str
    """A name, or an IP address without brackets."""

    port: int
    """TCP port; 0 takes a free one."""

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Listener:
    """One address, and all that is served there."""

    flag: str
    """By which the operator gave the address."""

    address: Address
    parts: frozenset[Part]
    tls: TlsSettings | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpSettings:
    """The door."""

    host: str = "127.0.0.1"
    """Address to listen on. Loopback, since bind can be called by whoever reaches
    it."""

    port: int = 8080
    """TCP port; 0 takes a free one."""

    webhook: Address | None = None
    """Where alone the webhook is served, without asking for client certificates:
    kube-apiserver mostly has none. None for the address of all else."""

    metrics: Address | None = None
    """Where alone health and metrics are served, without asking for client
    certificates. None for the address of all else."""

    tls: TlsSettings | None = None
    """None serves plain HTTP."""

    is_plain_allowed: bool = False
    """Whether plain HTTP may be served to other machines, too."""

    has_plain_verbs: bool = False
    """Whether `host` and `port` speak plain HTTP although there is `tls`, which is
    then for the other addresses."""

    body_limit_bytes: int = 64 * MIB
    """Largest request body. 2,000 full Node objects of 15 kB are 30 MB; above the
    limit the answer is 413, since a body that is cut short would be a wrong one."""

    review_limit_bytes: int = 8 * MIB
    """Largest body of an admission review. The API server takes no object of more than
    3 MiB, and sends it in one."""

    pod_limit_bytes: int = 1 * MIB
    """Largest body of POST /pods. etcd takes 1.5 MiB; YAML takes seconds per MiB."""

    large_bodies: int = 4
    """Of bodies that may be larger than 64 KiB, how many are read at once; others wait
    their turn. kube-scheduler asks filter for one pod at a time. Binds are smaller, and
    wait for nothing."""

    line_limit_bytes: int = 8190
    """Largest request line, and largest single header."""

    header_limit: int = 64
    """Most headers of one request. Go's client sends five."""

    header_seconds: float = 10.0
    """From the first byte of a request to the end of its headers; and the longest TLS
    handshake."""

    body_seconds: float = 30.0
    """How long a body may take. kube-scheduler itself gives up after its httpTimeout of
    30 s."""

    unread_seconds: float = 10.0
    """How long a body that nobody reads may go on after its answer, such as that of a
    request to an unknown path. Then the connection is closed."""

    answer_seconds: float = 30.0
    """How long a client may leave an answer untaken."""

    keepalive_seconds: float = 120.0
    """How long an idle connection is kept. Go's client drops its own after 90 s; a
    server that drops first makes it fail a request now and then."""

    connection_limit: int = 2_000
    """Most connections of one listener. One more is taken by closing the one that has
    waited for a request for longest; it is refused only where all have a request under
    way. A bind that waits keeps its connection in any case."""

    shutdown_seconds: float = 10.0
    """How long open requests may take once the process was told to stop."""

    def listeners(self) -> Iterator[Listener]:
        """Give every address with what is served there; the verbs' first."""
        apart = [
            (Part.WEBHOOK, "--webhook-listen", self.webhook),
            (Part.METRICS, "--metrics-listen", self.metrics),
        ]
        elsewhere = {part for part, _, address in apart if address is not None}
        main = Address(self.host, self.port)
        tls = None if self.has_plain_verbs else self.tls
        yield Listener("--listen", main, frozenset(Part) - elsewhere, tls)
        anybody = self.tls and replace(
            self.tls, client_ca_file=None, client_names=frozenset()
        )
        for part, flag, address in apart:
            if address is not None:
                yield Listener(flag, address, frozenset({part}), anybody)


@dataclass(frozen=True, slots=True, kw_only=True)
class ObserveSettings:
    """What metrics show."""

    device_rows: int = 5_000
    """Devices that are shown one by one at most, at seven samples each: 625 nodes of
    eight. Where there are more, sums by node and model are shown, and where these are
    more, by model."""

    shows_hami_names: bool = False
    """Whether figures are shown by HAMi's names, too, for dashboards that exist. They
    name pods."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShadowSettings:
    """How another scheduler is watched, without writing anything."""

    is_on: bool = False
    """Whether this process only watches and judges."""

    look_seconds: float = 1.0
    """How often to look at pods that are left pending."""

    patience_seconds: float = 10.0
    """How long a pending pod must fit before we say that we would have placed it. The
    other scheduler hears of free room as we do, and needs a moment to try again."""

    assignment_seconds: float = 120.0
    """How long what was assigned counts without the pod being shown bound. Longer than
    the other scheduler's bind lasts; HAMi's gives up after 28 s, and tries again."""

    differences_kept: int = 500
    """Of the last differences, how many are told by ``GET /shadow``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings of one process."""

    http: HttpSettings = field(default_factory=HttpSettings)
    scheduling: SchedulingSettings = field(default_factory=SchedulingSettings)
    admission: AdmissionSettings = field(default_factory=AdmissionSettings)
    bind: BindSettings = field(default_factory=BindSettings)
    waking: WakingSettings = field(default_factory=WakingSettings)
    quota: QuotaSettings = field(default_factory=QuotaSettings)
    kube: KubeSettings = field(default_factory=KubeSettings)
    events: EventSettings = field(default_factory=EventSettings)
    observe: ObserveSettings = field(default_factory=ObserveSettings)
    shadow: ShadowSettings = field(default_factory=ShadowSettings)

    device_config: Path | None = None
    """Where the kinds of device come from; followed while serving. None for those of
    `scheduling`, for good."""

    audit_seconds: float = 300.0
    """Between two audits. One takes about a second of a large cluster's time, in steps
    of a few milliseconds."""

    def __post_init__(self) -> None:
        """Check what settings of one topic demand of another's.

        Raises:
            SettingsError: A Binding could be carried out after its lease.
        """
        if self.quota.send_margin_seconds < self.kube.request_seconds:
            raise SettingsError(
                f"send_margin_seconds {self.quota.send_margin_seconds}: expected no "
                f"less than request_seconds, {self.kube.request_seconds}"
            )


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


def http_settings(
    listen: str,
    tls: TlsSettings | None = None,
    *,
    webhook_listen: str | None = None,
    metrics_listen: str | None = None,
    is_plain_allowed: bool = False,
    has_plain_verbs: bool = False,
) -> HttpSettings:
    """Put the flags of addresses together; each address is ``HOST:PORT``.

    Raises:
        SettingsError: One is no address, the webhook's is given without TLS, or
            clients of an address without TLS shall show certificates.

    Example:
        >>> http_settings("[::1]:8080").host
        '::1'
    """
    if webhook_listen is not None and tls is None:
        raise SettingsError(
            "--webhook-listen needs --tls-cert and --tls-key: kube-apiserver asks "
            "webhooks by HTTPS only"
        )
    if has_plain_verbs and tls is not None and tls.client_ca_file is not None:
        raise SettingsError(
            "--plain-verbs and --client-ca: over plain HTTP no client shows a "
            "certificate; give one of the two"
        )
    main = _address("--listen", listen)
    return HttpSettings(
        host=main.host,
        port=main.port,
        webhook=_address_or_none("--webhook-listen", webhook_listen),
        metrics=_address_or_none("--metrics-listen", metrics_listen),
        tls=tls,
        is_plain_allowed=is_plain_allowed,
        has_plain_verbs=has_plain_verbs,
    )


def _address_or_none(flag: str, text: str | None) -> Address | None:
    return None if text is None else _address(flag, text)


def _address(flag: str, text: str) -> Address:
    """Read ``HOST:PORT``; an IPv6 host stands in brackets."""
    host, _, port = text.rpartition(":")
    is_in_brackets = host.startswith("[") and host.endswith("]")
    host = host[1:-1] if is_in_brackets else host
    is_host = host != "" and not set(host) & set("[]" if is_in_brackets else "[]:")
    is_number = port.isascii() and port.isdigit() and len(port) <= _LONGEST_PORT
    if not is_host or not is_number or int(port) > _LAST_PORT:
        raise SettingsError(
            f"{flag} {text!r}: expected HOST:PORT, such as 127.0.0.1:8080 or [::1]:8080"
        )
    return Address(host, int(port))
