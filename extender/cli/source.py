"""A cluster to look at: from files, an API server, or a running extender.

Files and an API server become an extender in this process that nobody asks to bind; a
running one answers by HTTP, by the same functions. So a command asks a `Question`, and
prints the view that comes, whatever its source::

    @click.command()
    @source_options
    @output_option
    def explain(*, source: Source, output: Output) -> None:
        view, origin = source.ask(Question(View, View.of, "/route"))
        if output.is_table:
            print_table(view)
        else:
            echo_view(view, origin, output)
"""

import asyncio
import functools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

import click
import orjson

from extender.cli.kubeconfig import DEFAULT_KUBECONFIG, default_kubeconfig
from extender.cli.options import (
    device_config_option,
    kinds_of,
    node_selector_option,
    optional_cluster_option,
    policy_options,
    release_option,
)
from extender.cli.progress import progress
from extender.cli.server import LARGEST_BYTES, Server
from extender.core.pod import Release
from extender.core.pod_request import Policy
from extender.errors import SettingsError
from extender.runtime import embed_to_look, namespace_of, read_once, release_leaked
from extender.service import Extender
from extender.settings import SchedulingSettings, Settings
from extender.verbs.diagnosis import LockRelease
from extender.verbs.doctor.examination import Fixed
from extender.verbs.origin import Origin, OriginKind
from extender.wire.doctor import encode_releases
from extender.wire.objects import JsonObject
from extender.wire.views import decode_view

_Command = TypeVar("_Command", bound=Callable[..., Any])
_View = TypeVar("_View")


@dataclass(frozen=True, slots=True)
class World:
    """A cluster in this process, synced; for reading.

    Attributes:
        extender: With the ledger, its fleets and quotas, and the reader of the kinds.
        origin: Where it comes from.
    """

    extender: Extender
    origin: Origin


@dataclass(frozen=True, slots=True)
class Question(Generic[_View]):
    """What a command wants to know of a cluster.

    Attributes:
        view: What the answer is.
        answer: Computes it from a cluster in this process.
        path: Of the route by which a running extender answers the same.
        body: To be posted there; None where the route is read.
        decode: Reads that answer; None for a view's own way.
        most_bytes: The largest answer that is read.
    """

    view: type[_View]
    answer: Callable[[Extender], _View]
    path: str
    body: bytes | None = None
    decode: Callable[[JsonObject], _View] | None = None
    most_bytes: int = LARGEST_BYTES


@dataclass(frozen=True, slots=True)
class Source:
    """Which cluster is looked at; exactly one of the first three is given.

    Attributes:
        files: Dumps.
        kubeconfig: Of an API server.
        server: A running extender.
        context: Of the kubeconfig; None for its current one.
        scheduling: How pods and nodes are read; a running extender has its own.
    """

    files: tuple[Path, ...] = ()
    kubeconfig: Path | None = None
    server: Server | None = None
    context: str | None = None
    scheduling: SchedulingSettings = field(default_factory=SchedulingSettings)

    def world(self) -> World:
        """Read the cluster into this process.

        Raises:
            SettingsError: A file cannot be used.
            Unreachable: The API server did not list everything in time.
        """
        settings = Settings(scheduling=self.scheduling)
        if self.kubeconfig is not None:
            with progress("nodes, pods and quotas are listed"):
                extender = asyncio.run(
                    read_once(self.kubeconfig, settings, context=self.context)
                )
            where = str(self.kubeconfig)
            if self.context is not None:
                where = f"{where}, context {self.context}"
            return World(extender, Origin(OriginKind.API_SERVER, (where,)))
        with progress("files are read"):
            extender = embed_to_look(self.files, settings)
        names = tuple(map(str, self.files))
        return World(extender, Origin(OriginKind.FILES, names, _age(self.files)))

    def namespace(self) -> str:
        """Give the namespace of who names none: the context's, as kubectl has it.

        Raises:
            SettingsError: The kubeconfig cannot be used.
        """
        if self.kubeconfig is None:
            return "default"
        return namespace_of(self.kubeconfig, self.context)

    def ask(self, question: Question[_View]) -> tuple[_View, Origin]:
        """Answer a question about the cluster, here or where it is known.

        Raises:
            ExtenderError: The source cannot be used, or does not answer.
        """
        if self.server is None:
            world = self.world()
            with progress("the answer is worked out"):
                return question.answer(world.extender), world.origin
        with progress(f"{self.server.url} is asked"):
            answer = self.server.ask(question.path, question.body, question.most_bytes)
        origin = Origin(OriginKind.EXTENDER, (self.server.url,))
        if question.decode is not None:
            return question.decode(answer), origin
        return decode_view(question.view, answer), origin

    def release(self, releases: Sequence[LockRelease]) -> tuple[str, ...]:
        """Release node locks that nobody needs; tells what was done about each.

        Raises:
            ExtenderError: The source cannot be changed, or does not answer.
        """
        if self.server is not None:
            body = orjson.dumps(encode_releases([*releases]))
            answer = self.server.ask("/doctor/fix", body)
            return decode_view(Fixed, answer).done
        if self.kubeconfig is None:
            raise SettingsError(
                "--fix needs --server or --kubeconfig: files are not changed"
            )
        settings = Settings(scheduling=self.scheduling)
        return tuple(
            asyncio.run(
                release_leaked(
                    self.kubeconfig, settings, releases, context=self.context
                )
            )
        )


def _age(files: Sequence[Path]) -> int | None:
    """Tell the age of the oldest file in seconds; None where none tells."""
    written = []
    for file in files:
        try:
            written.append(file.stat().st_mtime)
        except OSError as error:
            raise SettingsError(f"{file}: {error.strerror}") from error
    return max(int(time.time() - min(written)), 0) if written else None


_KUBECONFIG: Final = click.option(
    "--kubeconfig",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="List the cluster of this file's current context, once. Nothing is written. "
    "Without any source: $KUBECONFIG, or else ~/.kube/config.",
)
_CONTEXT: Final = click.option(
    "--context", metavar="NAME", help="Another context of --kubeconfig."
)
_SERVER: Final = (
    click.option(
        "--server",
        "server_url",
        metavar="URL",
        help="Ask a running extender, such as http://127.0.0.1:8080. It has its own "
        "settings, and knows what it has reserved.",
    ),
    click.option(
        "--server-ca",
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="Who may have signed its certificate; PEM. Default: whom this machine "
        "trusts.",
    ),
    click.option(
        "--server-cert",
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="Our certificate, where it asks for one; PEM.",
    ),
    click.option(
        "--server-key",
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="Its key, where it is a file of its own.",
    ),
    click.option(
        "--server-name",
        metavar="NAME",
        help="That its certificate has, where --server names another host: through "
        "kubectl port-forward.",
    ),
)

_READING: Final = (
    "node_selector",
    "device_policy",
    "node_policy",
    "weights",
    "release",
    "device_config",
)
"""Parameters that say how pods and nodes are read."""


def source_options(command: _Command) -> _Command:
    """Add all that says which cluster is looked at; the parameter is ``source``."""

    @functools.wraps(command)
    def bundled(
        *,
        server_url: str | None,
        server_ca: Path | None,
        server_cert: Path | None,
        server_key: Path | None,
        server_name: str | None,
        **given: Any,  # noqa: ANN401 - what click gives
    ) -> None:
        reading = {name: given.pop(name) for name in _READING}
        server = None
        if server_url is not None:
            _check_not_given(_READING)
            server = Server(server_url, server_ca, server_cert, server_key, server_name)
        elif server_ca or server_cert or server_key or server_name:
            raise click.UsageError("--server-ca and the like need --server")
        source = _source(given, server, functools.partial(_scheduling, **reading))
        command(source=source, **given)

    for option in (
        device_config_option,
        release_option,
        policy_options,
        node_selector_option,
        *reversed(_SERVER),
        _CONTEXT,
        _KUBECONFIG,
        optional_cluster_option,
    ):
        option(bundled)
    return bundled  # type: ignore[return-value] # click calls it by keyword


def local_source_options(command: _Command) -> _Command:
    """Add which cluster is read into this process; the parameter is ``source``.

    For figures that need no policy of cards, and that no running extender tells.
    """

    @functools.wraps(command)
    def bundled(
        *,
        release: str,
        device_config: Path | None,
        **given: Any,  # noqa: ANN401
    ) -> None:
        def scheduling() -> SchedulingSettings:
            return SchedulingSettings(
                kinds=kinds_of(device_config), release=Release(release)
            )

        command(source=_source(given, None, scheduling), **given)

    for option in (
        device_config_option,
        release_option,
        _CONTEXT,
        _KUBECONFIG,
        optional_cluster_option,
    ):
        option(bundled)
    return bundled  # type: ignore[return-value] # as above


def _source(
    given: dict[str, Any],
    server: Server | None,
    scheduling: Callable[[], SchedulingSettings],
) -> Source:
    """Take the options of the source out, and check them."""
    files, kubeconfig = given.pop("cluster_files"), given.pop("kubeconfig")
    context = given.pop("context")
    sources = [bool(files), kubeconfig is not None, server is not None]
    if not any(sources) and (kubeconfig := default_kubeconfig()) is not None:
        sources = [True]
    if sum(sources) != 1:
        context_ = click.get_current_context()
        names = ["--cluster", "--kubeconfig"]
        if any(each.name == "server_url" for each in context_.command.params):
            names.append("--server")
        listed = f"{', '.join(names[:-1])} and {names[-1]}"
        missing = "" if any(sources) else f"; there is no {DEFAULT_KUBECONFIG} either"
        raise click.UsageError(f"give exactly one of {listed}{missing}")
    if context is not None and kubeconfig is None:
        raise click.UsageError("--context needs --kubeconfig")
    if server is not None:
        return Source(server=server)
    return Source(files, kubeconfig, None, context, scheduling())


def _check_not_given(names: Sequence[str]) -> None:
    context = click.get_current_context()
    for each in context.command.params:
        if each.name not in names:
            continue
        where = context.get_parameter_source(each.name)
        if where is not click.core.ParameterSource.DEFAULT:
            raise click.UsageError(
                f"{each.opts[0]} is not taken with --server, which reads pods and "
                "nodes by its own settings"
            )


def _scheduling(
    *,
    node_selector: Any,  # noqa: ANN401 - as the callbacks of the options give them
    device_policy: Any,  # noqa: ANN401
    node_policy: str,
    weights: Any,  # noqa: ANN401
    release: str,
    device_config: Path | None,
) -> SchedulingSettings:
    return SchedulingSettings(
        node_selector=node_selector,
        kinds=kinds_of(device_config),
        device_policy=replace(device_policy, weights=weights),
        node_policy=Policy(node_policy),
        release=Release(release),
    )
