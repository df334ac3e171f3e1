"""What a playground prints once it runs: what runs where, and five commands to try."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from playground.running import Playground

CHARGE_METRIC: Final = "gpu_extender_device_memory_charged_bytes"
CARD: Final = "GPU-7fca10c8-cf4c-620f-60af-08cd7d095bde"
"""The idle card that the sidecar pod asks for."""

_OF_CARD: Final = f"grep {CHARGE_METRIC} | grep {CARD}"

SIDECAR_POD: Final = "config/pods/sidecar-and-app.yaml"
_PENDING: Final = "playground/pods/pending"
_WAITING: Final = "pending/too-large"
"""One of them."""


def announcement(playground: Playground) -> str:
    """Print all of it."""
    folder = _shown(playground.folder)
    return "\n".join(
        [
            "",
            *_parts(playground),
            "",
            "In a second terminal, in this folder:",
            "",
            f"  export KUBECONFIG={playground.kubeconfig}",
            f'  export PATH="{playground.programs}:$PATH"   # kubectl, gpu-extender',
            "",
            *_commands(playground),
            f"More: docs/playground.md. Logs: {folder}/*.log. Ctrl-C ends it all.",
        ]
    )


def _parts(playground: Playground) -> Iterator[str]:
    nodes = [node["metadata"]["name"] for node in playground.nodes]
    rows = [
        ("kube-apiserver", playground.plane.server),
        ("gpu-extender", f"{playground.extender.url}, for kube-scheduler alone"),
        ("  webhooks", playground.webhook),
        ("  metrics", playground.metrics),
        ("kube-scheduler", "gpu-scheduler and default-scheduler, asks gpu-extender"),
        ("kwok", "plays nodes and containers; a container runs as long as its sleep"),
        ("device plugins", "a stand-in: registers cards, serves pods that are bound"),
        ("nodes", f"{len(nodes)}: {', '.join(nodes[:4])},"),
        ("", f"{', '.join(nodes[4:])}"),
    ]
    for name, text in rows:
        yield f"  {name:16}{text}".rstrip()


def _commands(playground: Playground) -> Iterator[str]:
    trust = _shown(playground.authority)
    kubeconfig = _shown(playground.kubeconfig)
    tries = [
        (
            "A pod whose sidecar and app run side by side, 10 GiB each, on one card:",
            [f"kubectl apply -f {SIDECAR_POD}"],
        ),
        (
            "What it is charged, phase by phase: 20 GiB. And the rest:",
            ["kubectl get pods -A -o json | gpu-extender charge -f -"],
        ),
        (
            "The metric that shows it, in bytes of that card:",
            [f"curl -s --cacert {trust} {playground.metrics} | {_OF_CARD}"],
        ),
        (
            "Pods that stay pending, for ten causes; and why, node by node:",
            [
                f"kubectl apply -f {_PENDING}/",
                "kubectl get events -A --field-selector reason=FailedScheduling",
                f"gpu-extender explain {_WAITING} --kubeconfig {kubeconfig}",
            ],
        ),
        (
            "A pod that its namespace has no quota for is not even created:",
            ["kubectl apply -f playground/pods/over-quota.yaml"],
        ),
    ]
    for number, (what, lines) in enumerate(tries, 1):
        yield f"{number}. {what}"
        yield from (f"  {line}" for line in lines)
        yield ""


def _shown(path: Path) -> Path:
    """Give a path as short as it may be typed."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path
