"""``gpu-extender certificate``: the webhook's certificate, made where there is none."""

import asyncio
from pathlib import Path

import click

from extender.cli.terminal import printable
from extender.runtime import ensure_certificate


@click.command()
@click.option(
    "--kubeconfig",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="The cluster of this file's current context. Default: the one that this pod "
    "runs in, by its service account.",
)
@click.option(
    "-n",
    "--namespace",
    metavar="NAME",
    default="gpu-extender",
    show_default=True,
    help="Of the Secret.",
)
@click.option(
    "--secret",
    metavar="NAME",
    default="gpu-extender-tls",
    show_default=True,
    help="Holds tls.crt, tls.key and ca.crt.",
)
@click.option(
    "--dns-name",
    "dns_names",
    metavar="NAME",
    multiple=True,
    help="For whom the certificate is. May be given several times. Default: "
    "gpu-extender.NAMESPACE.svc.",
)
@click.option(
    "--webhook",
    metavar="NAME",
    default="gpu-extender",
    show_default=True,
    help="The mutating and the validating configuration that shall trust it.",
)
def certificate(
    *,
    kubeconfig: Path | None,
    namespace: str,
    secret: str,
    dns_names: tuple[str, ...],
    webhook: str,
) -> None:
    """Make the webhook's certificate, and have the API server trust it.

    A certificate that is for all names and good for another year is kept. A new one
    is good for ten years. Where cert-manager is installed, let it do this instead.

    \b
    Example:
      gpu-extender certificate --kubeconfig ~/.kube/config
    """  # noqa: D301 - \b is click's mark for text that is not to be wrapped
    names = dns_names or (f"gpu-extender.{namespace}.svc",)
    done = asyncio.run(
        ensure_certificate(kubeconfig, namespace, secret, names, webhook)
    )
    for each in done:
        click.echo(printable(each))
