"""``gpu-extender schedule``: where pods would go, or why they would not."""

import asyncio
import logging
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click
from rich.console import Console

from extender.cli.options import (
    cluster_option,
    device_config_option,
    kinds_of,
    node_selector_option,
    policy_options,
    read_input,
    release_option,
)
from extender.cli.placed import placed_json, print_placed
from extender.cli.refused import print_refused, refused_json
from extender.cli.terminal import printable
from extender.cli.views import Output, echo_json, output_option
from extender.core.device_policy import DevicePolicy, Weights
from extender.core.pod import Release
from extender.core.pod_request import Policy
from extender.embedded.documents import objects_in
from extender.embedded.scheduler import PlacedPod, RefusedPod, schedule_pod
from extender.errors import SettingsError
from extender.runtime import EmbeddedExtender, embed
from extender.settings import SchedulingSettings, Settings
from extender.wire.label_selector import LabelSelector
from extender.wire.objects import JsonObject


@click.command()
@click.option(
    "-f",
    "--filename",
    "files",
    metavar="POD",
    multiple=True,
    required=True,
    type=click.Path(path_type=Path),
    help="Pods to place, JSON or YAML; - is standard input. May be given several "
    "times; the pods are placed one after another, each beside the ones before it.",
)
@cluster_option
@node_selector_option
@policy_options
@release_option
@device_config_option
@output_option
def schedule(
    *,
    files: tuple[Path, ...],
    cluster_files: tuple[Path, ...],
    node_selector: LabelSelector,
    device_policy: DevicePolicy,
    node_policy: str,
    weights: Weights,
    release: str,
    device_config: Path | None,
    output: Output,
) -> None:
    """Place pods on a cluster read from files, and show where and why.

    GPU rules only: taints, CPU, affinity and all else that kube-scheduler looks at are
    left out, and among equal scores the first name wins. Nothing is written. The exit
    code is 0 only if every pod was placed.

    \b
    Example:
      gpu-extender schedule -f config/pods/init-then-app.yaml \\
        --cluster config/example-cluster.yaml
    """  # noqa: D301 - \b is click's mark for text that is not to be wrapped
    logging.basicConfig(level=logging.ERROR)  # warnings stand beside their pod
    pods = [obj for file in files for obj in objects_in(read_input(file), str(file))]
    if not pods:
        raise SettingsError("no pod found in the input")
    scheduling = SchedulingSettings(
        node_selector=node_selector,
        kinds=kinds_of(device_config),
        device_policy=replace(device_policy, weights=weights),
        node_policy=Policy(node_policy),
        release=Release(release),
    )
    settings = Settings(scheduling=scheduling)
    embedded = embed(cluster_files, settings)
    outcomes = asyncio.run(_schedule_all(embedded, pods))
    if output.is_table:
        _print_all(output.console(), embedded, outcomes)
    else:
        echo_json({"pods": [_as_json(each) for each in outcomes]}, output)
    if any(isinstance(each, RefusedPod) for each in outcomes):
        sys.exit(1)


async def _schedule_all(
    embedded: EmbeddedExtender, pods: Sequence[JsonObject]
) -> list[PlacedPod | RefusedPod]:
    return [
        await schedule_pod(embedded.extender, embedded.cluster, obj) for obj in pods
    ]


def _as_json(outcome: PlacedPod | RefusedPod) -> dict[str, object]:
    match outcome:
        case PlacedPod():
            return placed_json(outcome)
        case RefusedPod():
            return refused_json(outcome)


def _print_all(
    console: Console,
    embedded: EmbeddedExtender,
    outcomes: Sequence[PlacedPod | RefusedPod],
) -> None:
    for outcome in outcomes:
        match outcome:
            case PlacedPod():
                print_placed(console, outcome, embedded.cluster.nodes)
            case RefusedPod():
                print_refused(console, outcome)
        for warning in outcome.pod.warnings:
            console.print(f"  warning: {printable(warning)}", style="yellow")
        console.print()
    placed = sum(isinstance(each, PlacedPod) for each in outcomes)
    console.print(
        f"{placed} of {len(outcomes)} pods placed; GPU rules only, no taints, no CPU"
    )
