"""``gpu-extender serve --shadow``: what it announces, and its table at the end."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import click

from extender.cli.shadow_table import print_shadow
from extender.cli.terminal import console
from extender.runtime import run, serve_kube
from extender.service.shadow import ShadowExtender
from extender.service.shadow_report import shadow_report
from extender.settings import Part, Settings


def serve_shadow(kubeconfig: Path | None, settings: Settings) -> None:
    """Watch until stopped, and then print what was found."""
    synced: list[object] = []
    run(serve_kube(kubeconfig, settings, _announce, synced.append))
    for shadow in synced:
        if isinstance(shadow, ShadowExtender):
            print_shadow(console(), asyncio.run(shadow_report(shadow)))


def _announce(urls: Mapping[Part, str]) -> None:
    click.echo("shadow mode: watching, and writing nothing")
    reads = "GET /shadow /healthz /readyz /metrics"
    click.echo(f"serving on {urls[Part.METRICS]}: {reads}")
    if Part.VERBS in urls:
        verbs = "POST /filter /prioritize; /bind answers an error"
        click.echo(f"serving on {urls[Part.VERBS]}: {verbs}")
    click.echo("                  Ctrl-C stops, and prints what was found")
