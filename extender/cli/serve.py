"""``gpu-extender serve``: answer kube-scheduler over HTTP."""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import click

from extender.cli.log_options import log_options
from extender.cli.metrics_options import metrics_options
from extender.cli.options import (
    device_config_option,
    kinds_of,
    node_selector_option,
    optional_cluster_option,
    policy_options,
    release_option,
    scheduler_options,
)
from extender.cli.shadow_serve import serve_shadow
from extender.cli.terminal import printable
from extender.core.allocation import UnreadableAllocation
from extender.core.device_policy import DevicePolicy, Weights
from extender.core.holding import Holding
from extender.core.names import KindWord
from extender.core.pod import Pod, Release
from extender.core.pod_request import Policy
from extender.core.policies import Burst
from extender.observe.logs import LogSettings, logging_to
from extender.observe.pod_events import EventSettings
from extender.runtime import embed, run, serve_embedded, serve_kube
from extender.service import Extender
from extender.settings import (
    AdmissionSettings,
    ObserveSettings,
    Part,
    QuotaSettings,
    SchedulingSettings,
    Settings,
    ShadowSettings,
    http_settings,
    tls_settings,
)
from extender.state.holdings import Footing, Standing
from extender.state.ledger_view import LedgerView
from extender.verbs.exact import Mode
from extender.wire.label_selector import LabelSelector


@click.command()
@optional_cluster_option
@click.option(
    "--kubeconfig",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Serve the cluster of this file's current context.",
)
@click.option(
    "--in-cluster",
    is_flag=True,
    help="Serve the cluster that this pod runs in, by its service account.",
)
@click.option(
    "--listen",
    metavar="HOST:PORT",
    default="127.0.0.1:8080",
    show_default=True,
    help="Address to listen on. Whoever reaches it can bind pods, unless --client-ca "
    "is given.",
)
@click.option(
    "--metrics-listen",
    metavar="HOST:PORT",
    help="Serve health and metrics here and no longer at --listen; over TLS where "
    "--tls-cert is given, and without asking for client certificates.",
)
@metrics_options
@click.option(
    "--webhook-listen",
    metavar="HOST:PORT",
    help="Serve the admission webhooks here and no longer at --listen; over TLS, and "
    "without asking for client certificates.",
)
@click.option(
    "--insecure-http",
    "is_plain_allowed",
    is_flag=True,
    help="Allow plain HTTP on addresses that other machines reach: whoever is on the "
    "way can read and change what is asked.",
)
@click.option(
    "--plain-verbs",
    "has_plain_verbs",
    is_flag=True,
    help="Serve --listen over plain HTTP although --tls-cert is given: for a "
    "kube-scheduler in the same pod. Other addresses have TLS.",
)
@click.option(
    "--tls-cert",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Serve HTTPS (TLS 1.2 or newer) by this certificate, in PEM. It is read again "
    "when the file changes, and so are the key and the client CA.",
)
@click.option(
    "--tls-key",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Private key of --tls-cert, in PEM, not encrypted.",
)
@click.option(
    "--client-ca",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Answer only clients whose certificate one of these signed; /healthz and "
    "/readyz answer everybody.",
)
@click.option(
    "--client-name",
    "client_names",
    metavar="NAME",
    multiple=True,
    help="Of those, answer only clients whose certificate has this common name or DNS "
    "name. May be given several times.",
)
@click.option(
    "--burst",
    type=click.Choice([each.value for each in Burst]),
    default=Burst.PACKING.value,
    show_default=True,
    help="Of pods under node policy binpack that come at once: wait for the fullest "
    "node while its device plugin serves another pod, or go to other nodes.",
)
@click.option(
    "--mode",
    type=click.Choice([each.value for each in Mode]),
    default=Mode.SCORED.value,
    show_default=True,
    help="filter returns every node that fits, and scores decide; or, as HAMi's does, "
    "exactly one, by our score alone.",
)
@click.option(
    "--shadow",
    "is_shadow",
    is_flag=True,
    help="Watch a cluster that another scheduler, such as HAMi's, places pods in; tell "
    "where we would decide otherwise, and write nothing. Needs --kubeconfig or "
    "--in-cluster.",
)
@click.option(
    "--shadow-patience",
    "shadow_patience_seconds",
    metavar="SECONDS",
    type=click.FloatRange(min=0),
    default=10.0,
    show_default=True,
    help="With --shadow: how long a pod that is left pending must fit before it counts "
    "as one that we would have placed.",
)
@scheduler_options
@click.option(
    "--lease-namespace",
    metavar="NAME",
    default="",
    help="Where leases are kept by which several extenders take turns in namespaces "
    "with a quota; the same for all of them. Default: that of the pod it runs in, "
    "elsewhere gpu-extender.",
)
@node_selector_option
@policy_options
@release_option
@device_config_option
@log_options
def serve(
    *,
    cluster_files: tuple[Path, ...],
    kubeconfig: Path | None,
    listen: str,
    metrics_listen: str | None,
    metrics_device_rows: int,
    hami_metrics: bool,
    webhook_listen: str | None,
    is_plain_allowed: bool,
    has_plain_verbs: bool,
    tls_cert: Path | None,
    tls_key: Path | None,
    client_ca: Path | None,
    client_names: tuple[str, ...],
    burst: str,
    mode: str,
    is_shadow: bool,
    shadow_patience_seconds: float,
    scheduler_names: tuple[str, ...],
    force_overwrite_default_scheduler: bool,
    lease_namespace: str,
    node_selector: LabelSelector,
    device_policy: DevicePolicy,
    node_policy: str,
    weights: Weights,
    release: str,
    device_config: Path | None,
    in_cluster: bool,
    logs: LogSettings,
    events: EventSettings,
) -> None:
    """Answer kube-scheduler over HTTP.

    With --kubeconfig or --in-cluster, nodes, pods and quotas are listed and watched; a
    bind is written to the API server. GET /readyz is 503 until all are listed.

    With --cluster, the cluster is read from files and lives in memory: a bind changes
    it and plays the device plugin, POST /pods adds a pod, GET /pods lists all of them.
    The files are never written.

    \b
    Example:
      gpu-extender serve --cluster config/example-cluster.yaml
      curl --data-binary @config/pods/init-then-app.yaml localhost:8080/pods
    """  # noqa: D301 - \b is click's mark for text that is not to be wrapped
    if [bool(cluster_files), kubeconfig is not None, in_cluster].count(True) != 1:
        raise click.UsageError(
            "give exactly one of --cluster, --kubeconfig and --in-cluster"
        )
    if is_shadow and cluster_files:
        raise click.UsageError(
            "--shadow watches another scheduler: give --kubeconfig or --in-cluster"
        )
    if is_shadow and webhook_listen is not None:
        raise click.UsageError(
            "--webhook-listen: a shadow changes no pod, and has no webhooks"
        )
    scheduling = SchedulingSettings(
        kinds=kinds_of(device_config),
        burst=Burst(burst),
        mode=Mode(mode),
        node_selector=node_selector,
        device_policy=replace(device_policy, weights=weights),
        node_policy=Policy(node_policy),
        release=Release(release),
    )
    tls = tls_settings(tls_cert, tls_key, client_ca, client_names)
    settings = Settings(
        http=http_settings(
            listen,
            tls,
            webhook_listen=webhook_listen,
            metrics_listen=metrics_listen,
            is_plain_allowed=is_plain_allowed,
            has_plain_verbs=has_plain_verbs,
        ),
        scheduling=scheduling,
        admission=AdmissionSettings(
            scheduler_names=scheduler_names,
            force_overwrite_default_scheduler=force_overwrite_default_scheduler,
        ),
        quota=QuotaSettings(lease_namespace=lease_namespace),
        observe=ObserveSettings(
            device_rows=metrics_device_rows, shows_hami_names=hami_metrics
        ),
        shadow=ShadowSettings(
            is_on=is_shadow, patience_seconds=shadow_patience_seconds
        ),
        device_config=device_config,
        events=events,
    )
    with logging_to(sys.stderr, logs):
        _serve(cluster_files, kubeconfig, settings)


def _serve(
    cluster_files: tuple[Path, ...], kubeconfig: Path | None, settings: Settings
) -> None:
    if settings.shadow.is_on:
        serve_shadow(kubeconfig, settings)
        return
    if not cluster_files:
        run(serve_kube(kubeconfig, settings, _announce_kube, _echo_summary))
        return
    embedded = embed(cluster_files, settings)
    _echo_summary(embedded.extender)
    run(serve_embedded(embedded, settings, _announce))


def _announce(urls: Mapping[Part, str]) -> None:
    _echo_urls(urls, " /pods", ["/pods"])


def _announce_kube(urls: Mapping[Part, str]) -> None:
    _echo_urls(urls, "", [])


def _echo_urls(urls: Mapping[Part, str], more_verbs: str, reads: list[str]) -> None:
    url = urls[Part.VERBS]
    for part, apart in urls.items():
        if apart != url:
            click.echo(f"serving on {apart}: {part.value}")
    if urls[Part.METRICS] == url:
        reads = [*reads, "/healthz", "/readyz"]
    get = f"GET  {' '.join(reads)}    " if reads else ""
    webhook = " /webhook /validate" if urls[Part.WEBHOOK] == url else ""
    verbs = f"/filter /prioritize /bind{webhook}{more_verbs}"
    click.echo(f"serving on {url}: POST {verbs}")
    click.echo(f"                  {get}Ctrl-C stops")


def _echo_summary(extender: Extender) -> None:
    click.echo(_summary(extender.ledger))


def _summary(ledger: LedgerView) -> str:
    usable = [node for node in ledger.nodes.values() if node.is_usable]
    cards = sum(len(node.usable_devices) for node in usable)
    names = {node.name for node in usable}
    charged = sum(
        standing.holding is not None
        and bool(standing.holding.charge)
        and standing.holding.node_name in names
        for _, standing in ledger.standings()
    )
    lines = [
        f"{len(ledger.nodes)} nodes, {len(usable)} with cards that count: {cards}",
        f"{len(ledger.pods)} pods, {charged} charged on these cards",
    ]
    lines += [printable(f"  {trouble}") for trouble in _troubles(ledger)]
    return "\n".join(lines)


def _troubles(ledger: LedgerView) -> Iterator[str]:
    """Tell what an operator should know of before trusting the figures."""
    for node in ledger.nodes.values():
        for inventory in node.inventories.values():
            if inventory.problem is not None:
                yield f"node {node.name} is refused: {inventory.problem}"
        for warning in node.warnings:
            yield f"node {node.name}: {warning}"
    for node_name, causes in ledger.overfull.causes.items():
        for uuid, (held, size) in ledger.overfull_on(node_name).items():
            yield (
                f"node {node_name}: card {uuid} holds {held} of {size} "
                f"({causes[uuid].value}); it takes nothing new until it has room"
            )
    for pod, standing in ledger.standings():
        for trouble in _troubles_of(ledger, pod, standing):
            yield f"pod {pod.full_name} on {pod.node_name}: {trouble}"


def _troubles_of(ledger: LedgerView, pod: Pod, standing: Standing) -> Iterator[str]:
    if standing.footing is Footing.UNMANAGED:
        yield "asks for cards but has no allocation; not charged"
    elif isinstance(pod.allocation, UnreadableAllocation):
        yield pod.allocation.problem
    elif standing.holding is not None:
        for word in _unallocated_kinds(pod):
            yield f"asks for {word} but has no allocation of it; not charged for that"
        yield from _troubles_with_cards(ledger, standing.holding)


def _unallocated_kinds(pod: Pod) -> list[KindWord]:
    """List the kinds that a bound pod asks for, where it has rows of others only."""
    if pod.node_name is None or pod.allocation is None:
        return []
    if isinstance(pod.allocation, UnreadableAllocation):
        return []
    held = {share.kind for row in pod.allocation for share in row}
    return [request.kind for request in pod.asking if request.kind not in held]


def _troubles_with_cards(ledger: LedgerView, holding: Holding) -> Iterator[str]:
    totals = ledger.fleet.totals(holding.node_name).values()
    if not totals:
        return
    for uuid in holding.charge:
        if not any(uuid in of_kind.used for of_kind in totals):
            yield f"holds {uuid}, which the node does not show"
    for device in ledger.nodes[holding.node_name].devices:
        if holding.mistakes(device.device_uuid, is_mig=device.is_mig):
            mode = (
                "in MIG mode, and does not tell"
                if device.is_mig
                else "not in MIG mode, and tells"
            )
            yield (
                f"holds {device.device_uuid}, which is {mode} "
                "which instances; the card counts as full"
            )
