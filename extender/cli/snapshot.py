"""``gpu-extender snapshot``: one file with the state and a decision."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final
from urllib.parse import quote

import click
import orjson

from extender.cli.explain import full_name, one_pod
from extender.cli.source import Question, Source, source_options
from extender.cli.terminal import printable
from extender.errors import SettingsError
from extender.service import Extender
from extender.verbs.snapshot.anonymous import anonymous
from extender.verbs.snapshot.saved import Snapshot
from extender.wire.objects import JsonObject
from extender.wire.snapshots import (
    LARGEST_BYTES,
    encode_snapshot,
    packed,
    read_snapshot,
)

_PACKED: Final = ".gz"


@click.command()
@click.argument("pod", metavar="[[NAMESPACE/]POD]", required=False)
@click.option(
    "-f",
    "--filename",
    "file",
    metavar="POD",
    type=click.Path(path_type=Path),
    help="A manifest of one pod instead, JSON or YAML; - is standard input. It is "
    "decided about as if it were created now.",
)
@click.option("-n", "--namespace", metavar="NAME", help="Of the pod.")
@click.option(
    "--out",
    metavar="FILE",
    required=True,
    type=click.Path(path_type=Path),
    help="Where to write; packed where the name ends with .gz. - is standard output.",
)
@click.option(
    "--anonymise",
    "is_anonymous",
    is_flag=True,
    help="Replace all names of nodes, cards, pods and namespaces, in their order, and "
    "leave out texts. Models, resources and numbers stay.",
)
@source_options
def snapshot(
    *,
    pod: str | None,
    file: Path | None,
    namespace: str | None,
    out: Path,
    is_anonymous: bool,
    source: Source,
) -> None:
    """Write a file with all that decides about a pod, and what was decided.

    gpu-extender replay decides again by it, on any machine: for a report of a decision
    that looks wrong, and as a test once it is mended. Of pods it has only what they
    ask for, hold and are called; no image, variable or other annotation.

    \b
    Examples:
      gpu-extender snapshot -n team my-pod --out my-pod.json.gz \\
        --server http://127.0.0.1:8080
      gpu-extender snapshot -f config/pods/whole-card.yaml --out /tmp/whole.json \\
        --cluster config/example-cluster.yaml --anonymise
    """  # noqa: D301 - \b is click's mark for text that is not to be wrapped
    if (pod is None) is (file is None):
        raise click.UsageError("give either a pod's name or -f")
    if file is not None:
        if namespace is not None:
            raise click.UsageError("-n goes with a pod's name; -f has its own")
        question = _of_manifest(one_pod(file))
    else:
        question = _of_name(*full_name(pod or "", namespace, source))
    taken, _ = source.ask(question)
    if is_anonymous:
        taken = anonymous(taken)
    content = encode_snapshot(taken)
    _write(out, packed(content) if out.name.endswith(_PACKED) else content)
    if str(out) != "-":
        chosen = taken.head.decision.chosen or "no node"
        told = (
            f"{out}: {len(taken.nodes)} nodes, {len(taken.pods)} pods; "
            f"{taken.head.pod.full_name} -> {chosen}"
        )
        click.echo(printable(told))


def _write(out: Path, content: bytes) -> None:
    if str(out) == "-":
        sys.stdout.buffer.write(content)
        return
    # Whole or not at all, and for nobody else's eyes: it names what is in a cluster.
    unfinished = out.with_name(f"{out.name}.part")
    try:
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as opened:
            opened.write(content)
        unfinished.replace(out)
    except OSError as error:
        raise SettingsError(f"--out {out}: {error.strerror}") from error


def _of_name(namespace: str, name: str) -> Question[Snapshot]:
    def answer(extender: Extender) -> Snapshot:
        return extender.snapshots.take_named(namespace, name)

    path = f"/snapshot/{quote(namespace, safe='')}/{quote(name, safe='')}"
    return _question(answer, path)


def _of_manifest(obj: JsonObject) -> Question[Snapshot]:
    def answer(extender: Extender) -> Snapshot:
        return extender.snapshots.take_new(extender.reader.read(obj))

    return _question(answer, "/snapshot", orjson.dumps(obj))


def _question(
    answer: Callable[[Extender], Snapshot], path: str, body: bytes | None = None
) -> Question[Snapshot]:
    return Question(Snapshot, answer, path, body, read_snapshot, LARGEST_BYTES)
