"""``gpu-extender health``: ask a server whether it answers."""

import http.client
import ssl
import sys
from pathlib import Path
from typing import Final, NoReturn
from urllib.parse import urlsplit

import click

from extender.cli.terminal import printable

EXIT_UNHEALTHY: Final = 1
_OK: Final = 200


@click.command()
@click.option(
    "--url",
    metavar="URL",
    default="http://127.0.0.1:8080",
    show_default=True,
    envvar="GPU_EXTENDER_HEALTH_URL",
    help="Where health is served: --metrics-listen, else --listen. Also as environment "
    "variable GPU_EXTENDER_HEALTH_URL.",
)
@click.option(
    "--ready",
    is_flag=True,
    help="Ask /readyz instead of /healthz: whether nodes, pods and quotas are listed, "
    "too.",
)
@click.option(
    "--ca",
    metavar="FILE",
    type=click.Path(path_type=Path),
    envvar="GPU_EXTENDER_HEALTH_CA",
    help="Of HTTPS, accept only a certificate that one of these signed for the URL's "
    "host. Default: any, as kubelet's probes do, since nothing secret is sent. Also as "
    "environment variable GPU_EXTENDER_HEALTH_CA.",
)
@click.option(
    "--timeout",
    "timeout_seconds",
    metavar="SECONDS",
    type=click.FloatRange(min=0.1, max=60),
    default=3.0,
    show_default=True,
    help="How long each step of the answer may take.",
)
def health(*, url: str, ready: bool, ca: Path | None, timeout_seconds: float) -> None:
    """Ask a server whether it answers.

    The exit code is 0 where it does and 1 where it does not, so that it serves as the
    HEALTHCHECK of an image, which has no curl.

    \b
    Example:
      gpu-extender health --url http://127.0.0.1:8080
    """  # noqa: D301 - \b is click's mark for text that is not to be wrapped
    path = "/readyz" if ready else "/healthz"
    try:
        connection = _connection(url, ca, timeout_seconds)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            text = answer.read(_MOST_BYTES).decode(errors="replace").strip()
        finally:
            connection.close()
    except (OSError, http.client.HTTPException) as error:
        _fail(f"{url}{path}: {str(error) or type(error).__name__}")
    if answer.status != _OK:
        _fail(f"{url}{path}: {answer.status} {text}")
    click.echo(printable(text))


_MOST_BYTES: Final = 1_000
"""Of an answer; the server's own are a line."""


def _connection(
    url: str, ca: Path | None, timeout_seconds: float
) -> http.client.HTTPConnection:
    """Prepare to ask; nothing is sent yet.

    Raises:
        click.UsageError: The URL is none of a server.
        OSError: The file of certificates cannot be read.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise click.UsageError(f"--url {url!r}: {error}") from error
    is_server = parts.scheme in {"http", "https"} and host
    if not is_server or host is None or parts.path.strip("/") or parts.query:
        raise click.UsageError(
            f"--url {url!r}: expected a server, such as http://127.0.0.1:8080"
        )
    if parts.scheme == "http":
        if ca is not None:
            raise click.UsageError(f"--ca needs a --url of https, not {url!r}")
        return http.client.HTTPConnection(host, port, timeout=timeout_seconds)
    context = ssl.create_default_context(cafile=ca)
    if ca is None:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return http.client.HTTPSConnection(
        host, port, timeout=timeout_seconds, context=context
    )


def _fail(text: str) -> NoReturn:
    click.echo(printable(f"gpu-extender: {text}"), err=True)
    sys.exit(EXIT_UNHEALTHY)
