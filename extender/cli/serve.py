"""``gpu-extender serve``: answer kube-scheduler over HTTP."""

import asyncio
import logging
from pathlib import Path

import click

from extender.cli.options import cluster_option
from extender.runtime import EmbeddedExtender, embed, serve_embedded
from extender.settings import Settings, http_settings
from extender.state.holdings import Footing


@click.command()
@cluster_option
@click.option(
    "--listen",
    metavar="HOST:PORT",
    default="127.0.0.1:8080",
    show_default=True,
    help="Address to listen on. Whoever reaches it can bind pods.",
)
def serve(cluster_files: tuple[Path, ...], listen: str) -> None:
    """Answer filter, prioritize and bind for a cluster read from files.

    The cluster lives in memory: a bind changes it and plays the device plugin, POST
    /pods adds a pod, GET /pods lists all of them. The files are never written.

    \b
    Example:
      gpu-extender serve --cluster config/example-cluster.yaml
      curl --data-binary @config/pods/init-then-app.yaml localhost:8080/pods
    """  # noqa: D301 - \b is click's mark for text that is not to be wrapped
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    settings = Settings(http=http_settings(listen))
    embedded = embed(cluster_files, settings.scheduling)
    click.echo(_summary(embedded))
    asyncio.run(serve_embedded(embedded, settings, _announce))


def _announce(url: str) -> None:
    click.echo(f"serving on {url}: POST /filter /prioritize /bind /pods")
    click.echo("                  GET  /pods /healthz /readyz    Ctrl-C stops")


def _summary(embedded: EmbeddedExtender) -> str:
    ledger = embedded.extender.ledger
    usable = [node for node in ledger.nodes.values() if node.is_usable]
    cards = sum(len(node.devices or ()) for node in usable)
    charged = sum(1 for _ in ledger.standings())
    lines = [
        f"{len(ledger.nodes)} nodes, {len(usable)} of them with cards that count",
        f"{cards} cards; {len(ledger.pods)} pods, {charged} of them on cards",
    ]
    for pod, standing in ledger.standings():
        if standing.footing not in (Footing.ALLOCATED, Footing.RESERVED):
            lines.append(
                f"  {pod.full_name} on {pod.node_name}: {standing.footing.value}"
            )
    lines.extend(
        f"  node {node.name}: {node.inventory_problem}"
        for node in ledger.nodes.values()
        if node.inventory_problem is not None
    )
    return "\n".join(lines)
