"""``gpu-extender shadow-report``: what a running shadow has found."""

import asyncio
import ssl
from pathlib import Path
from typing import Any, Final

import aiohttp
import click
import orjson

from extender.cli.shadow_table import print_shadow
from extender.cli.views import Output, echo_json, output_option
from extender.errors import SettingsError

_SECONDS: Final = 60.0
_OK: Final = 200


@click.command("shadow-report")
@click.option(
    "--server",
    metavar="URL",
    default="http://127.0.0.1:8080",
    show_default=True,
    help="Where it serves health and metrics. It answers on loopback alone: in a "
    "cluster, use kubectl port-forward.",
)
@click.option(
    "--ca",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Who signed its certificate, in PEM, where it serves HTTPS.",
)
@output_option
def shadow_report_command(*, server: str, ca: Path | None, output: Output) -> None:
    """Tell what a shadow (serve --shadow) has found.

    \b
    Example:
      gpu-extender serve --shadow --in-cluster
      gpu-extender shadow-report --server http://127.0.0.1:8080
    """  # noqa: D301 - \b is click's mark for text that is not to be wrapped
    if not server.startswith(("http://", "https://")):
        raise SettingsError(f"--server {server!r}: expected http://... or https://...")
    body = asyncio.run(_read(f"{server.rstrip('/')}/shadow", ca))
    try:
        report: dict[str, Any] = orjson.loads(body)
        if output.is_table:
            print_shadow(output.console(), report)
        else:
            echo_json(report, output)
    except (orjson.JSONDecodeError, AttributeError, KeyError, TypeError) as error:
        raise SettingsError(f"{server}: no report of a shadow: {error!r}") from error


async def _read(url: str, ca: Path | None) -> bytes:
    try:
        trust = ssl.create_default_context(cafile=None if ca is None else str(ca))
        timeout = aiohttp.ClientTimeout(total=_SECONDS)
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.get(url, ssl=trust) as answer,
        ):
            body = await answer.read()
    except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as error:
        raise SettingsError(f"{url}: {error}") from error
    if answer.status != _OK:
        raise SettingsError(f"{url}: status {answer.status}: is it a shadow?")
    return body
