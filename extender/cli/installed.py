"""What is installed, as far as it is written in arguments and files."""

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path

import click

from extender.cli.options import read_input
from extender.cli.serve import serve
from extender.embedded.documents import objects_in
from extender.errors import BadObject, Described, SettingsError, WireError
from extender.settings import BindSettings, http_settings, tls_settings
from extender.verbs.doctor.examination import Consulted, Examination
from extender.verbs.installation.documents import (
    Demand,
    Installation,
    SchedulerConfiguration,
    Served,
)
from extender.verbs.installation.examination import with_installation
from extender.wire.installation.scheduler_configuration import (
    read_scheduler_configuration,
)


def served_by(arguments: Sequence[str], namespace: str, account: str) -> Served:
    """Read the arguments as ``serve`` itself does, without serving.

    Args:
        arguments: After ``gpu-extender``.
        namespace: Where it runs.
        account: Its user name at the API server.

    Raises:
        SettingsError: ``serve`` would not take them.
    """
    given = [*arguments]
    if given[:1] == [serve.name]:
        del given[0]
    if not {"-h", "--help"}.isdisjoint(given):
        raise SettingsError("its arguments ask for help, and for no server")
    try:
        read = serve.make_context("serve", given).params
    except click.ClickException as error:
        raise SettingsError(error.format_message()) from error
    tls = tls_settings(
        read["tls_cert"], read["tls_key"], read["client_ca"], read["client_names"]
    )
    http = http_settings(
        read["listen"],
        tls,
        webhook_listen=read["webhook_listen"],
        metrics_listen=read["metrics_listen"],
        is_plain_allowed=read["is_plain_allowed"],
        has_plain_verbs=read["has_plain_verbs"],
    )
    verbs = next(http.listeners())
    return Served(
        host=http.host,
        port=http.port,
        has_tls=verbs.tls is not None,
        asks_certificate=verbs.tls is not None and verbs.tls.client_ca_file is not None,
        webhook_port=http.port if http.webhook is None else http.webhook.port,
        scheduler_names=read["scheduler_names"],
        lock_wait_seconds=BindSettings().lock_wait_seconds,
        namespace=namespace,
        account=account,
        certificate_file="" if tls is None else str(tls.cert_file),
        key_file="" if tls is None else str(tls.key_file),
    )


def configuration_in(content: bytes, source: str) -> SchedulerConfiguration:
    """Read the text of a KubeSchedulerConfiguration.

    Raises:
        BadObject: It is neither JSON nor YAML, or kube-scheduler would not take it.
    """
    objects = list(objects_in(content, source))
    if len(objects) != 1:
        raise BadObject(source, Described(f"{len(objects)} objects"), "one object")
    return read_scheduler_configuration(objects[0], source)


def examine_installation(
    found: Examination,
    demand: Demand,
    *,
    kubeconfig: Path | None = None,
    context: str | None = None,
    scheduler_file: Path | None = None,
) -> Examination:
    """Add what is wrong with the installation, as far as there is one to look at.

    Args:
        found: By the doctor of the state.
        demand: What the cluster is about.
        kubeconfig: Of the API server; None where the cluster is not asked. Then only
            `scheduler_file` is looked at.
        context: Of the kubeconfig; None for its current one.
        scheduler_file: kube-scheduler's configuration; None to look for it in the
            Deployment's ConfigMap.

    Raises:
        SettingsError: A file cannot be used.
    """
    scheduler = None if scheduler_file is None else _read(scheduler_file)
    if kubeconfig is None:
        if scheduler is None:
            return found
        read = Installation(time.time(), demand, scheduler=scheduler)
        return with_installation(found, read, (Consulted(scheduler.source),))
    read, consulted = asyncio.run(_asked(kubeconfig, context, demand, scheduler))
    return with_installation(found, read, consulted)


def _read(file: Path) -> SchedulerConfiguration:
    try:
        return configuration_in(read_input(file), str(file))
    except WireError as error:
        raise SettingsError(f"--scheduler-config {error}") from error


async def _asked(
    kubeconfig: Path,
    context: str | None,
    demand: Demand,
    scheduler: SchedulerConfiguration | None,
) -> tuple[Installation, list[Consulted]]:
    # The library takes half a second to import, which other commands need not wait for.
    from extender.kube.access import kubeconfig_access  # noqa: PLC0415
    from extender.kube.client import ApiClient  # noqa: PLC0415
    from extender.kube.installation import InstallationReader  # noqa: PLC0415

    async with ApiClient(await kubeconfig_access(kubeconfig, context)) as client:
        reader = InstallationReader(client, served_by, configuration_in)
        read = await reader.read(demand, time.time(), scheduler)
        return read, reader.consulted
