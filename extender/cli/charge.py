"""``gpu-extender charge``: what pods that hold devices are charged."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import click
from rich.console import Console
from rich.text import Text

from extender.cli.options import (
    device_config_option,
    kinds_of,
    read_input,
    release_option,
)
from extender.cli.terminal import printable
from extender.cli.usages import devices_of, indented, phase_table, usage_json
from extender.cli.views import Output, echo_json, output_option
from extender.core.allocation import UnreadableAllocation
from extender.core.container import ContainerUsage
from extender.core.phases import (
    container_usages,
    current_charge,
    effective_usage,
    released_init_count,
    steady_usage,
)
from extender.core.pod import Pod, Release
from extender.core.usage import NOTHING, Charge
from extender.embedded.documents import objects_in
from extender.errors import BadObject
from extender.settings import SchedulingSettings
from extender.wire.objects import JsonObject
from extender.wire.pods import PodReader


@dataclass(frozen=True, slots=True)
class ChargedPod:
    """A pod that holds devices, or should.

    Attributes:
        namespace: As written; None when unknown.
        name: As written; None when unknown.
        uid: None when unknown.
        node: None when unbound.
        pod: None when it cannot be read.
        usages: Per container; empty when the allocation cannot be read.
        error: Why it cannot be read; None when it can.
    """

    namespace: str | None
    name: str | None
    uid: str | None = None
    node: str | None = None
    pod: Pod | None = None
    usages: tuple[ContainerUsage, ...] = ()
    error: str | None = None

    @property
    def now(self) -> Charge:
        """What the pod is charged by its status; nothing while unbound."""
        if self.pod is None or self.pod.node_name is None:
            return {}
        return current_charge(self.usages, self.pod.status, self.pod.release)

    @property
    def keeps_its_peak(self) -> bool:
        """Whether no phase of it is released while it lives."""
        return self.pod is not None and self.pod.release is Release.NEVER


@click.command()
@click.option(
    "-f",
    "--filename",
    "files",
    metavar="FILE",
    multiple=True,
    required=True,
    type=click.Path(path_type=Path),
    help="Pods as kubectl prints them, JSON or YAML; - is standard input. May be given "
    "several times.",
)
@release_option
@device_config_option
@output_option
def charge(
    files: tuple[Path, ...],
    release: str,
    device_config: Path | None,
    output: Output,
) -> None:
    """Show what pods that hold devices are charged.

    Each phase of a pod's life is shown. effective is the most that the pod can hold
    at any instant of its life, steady what it holds once its inits are done, and now
    what it is charged by its status. An allocation that cannot be read makes the exit
    code 1.

    \b
    Example:
      kubectl get pods -A -o json | gpu-extender charge -f -
    """  # noqa: D301 - \b is click's mark for text that is not to be wrapped
    pods = [
        obj
        for file in files
        for obj in objects_in(read_input(file), str(file))
        if obj.get("kind") == "Pod"
    ]
    reader = SchedulingSettings(
        kinds=kinds_of(device_config), release=Release(release)
    ).reader()
    charged = [each for obj in pods for each in _charged(obj, reader)]
    if output.is_table:
        _print_tables(output.console(), charged, len(pods))
    else:
        echo_json([_as_json(each) for each in charged], output)
    if any(each.error for each in charged):
        sys.exit(1)


def _charged(obj: JsonObject, reader: PodReader) -> Iterator[ChargedPod]:
    try:
        pod = reader.read(obj)
    except BadObject as error:
        yield _nameable(obj, str(error))
        return
    match pod.allocation:
        case None:
            return
        case UnreadableAllocation(problem=problem):
            yield _charged_pod(pod, (), problem)
        case allocation:
            usages = container_usages(pod.lifetimes, allocation)
            if devices_of(usages):
                yield _charged_pod(pod, usages, None)


def _charged_pod(
    pod: Pod, usages: tuple[ContainerUsage, ...], error: str | None
) -> ChargedPod:
    return ChargedPod(
        namespace=pod.namespace,
        name=pod.name,
        uid=pod.uid or None,
        node=pod.node_name,
        pod=pod,
        usages=usages,
        error=error,
    )


def _nameable(obj: JsonObject, error: str) -> ChargedPod:
    """Name a pod that cannot be read, as far as it can be named."""
    metadata = obj.get("metadata")
    fields = metadata if isinstance(metadata, dict) else {}
    namespace, name = fields.get("namespace"), fields.get("name")
    return ChargedPod(
        namespace=namespace if isinstance(namespace, str) else None,
        name=name if isinstance(name, str) else None,
        error=error,
    )


def _as_json(each: ChargedPod) -> dict[str, object]:
    effective, steady = effective_usage(each.usages), steady_usage(each.usages)
    now = each.now
    described: dict[str, object] = {
        "namespace": each.namespace,
        "name": each.name,
        "uid": each.uid,
        "node": each.node,
        "devices": {
            uuid: {
                "effective": usage_json(effective.get(uuid, NOTHING)),
                "steady": usage_json(steady.get(uuid, NOTHING)),
                "now": usage_json(now.get(uuid, NOTHING)),
            }
            for uuid in devices_of(each.usages)
        },
    }
    if each.keeps_its_peak:
        described["release"] = Release.NEVER.value
    if each.error is not None:
        described["error"] = each.error
    return described


def _print_tables(
    console: Console, charged: Sequence[ChargedPod], pod_count: int
) -> None:
    if not pod_count:
        console.print("no pod found in the input")
    elif not charged:
        console.print(
            f"none of {pod_count} pods holds a device: cards are chosen at bind;\n"
            "`gpu-extender schedule` shows where a pod would go"
        )
    for each in charged:
        _print_pod(console, each)


def _print_pod(console: Console, each: ChargedPod) -> None:
    state = f", {each.pod.status.phase}" if each.pod else ""
    if each.keeps_its_peak:
        state += ", release never"
    where = f"on {each.node}" if each.node else "unbound"
    console.print(
        Text.assemble(
            (printable(f"{each.namespace}/{each.name}"), "bold"),
            printable(f" {where}{state}"),
        )
    )
    if each.error is not None or each.pod is None:
        console.print(printable(f"  cannot be read: {each.error}"), style="red")
    else:
        totals = [
            ("effective", effective_usage(each.usages)),
            ("charged now", each.now),
        ]
        for uuid in devices_of(each.usages):
            console.print(printable(f"  {uuid}"), soft_wrap=True)
            table = phase_table(
                each.pod.containers,
                each.usages,
                uuid,
                totals,
                released_inits=released_init_count(
                    each.pod.lifetimes, each.pod.status, each.pod.release
                ),
            )
            console.print(indented(table))
    console.print()
