"""A whole scrape, of a cluster that has something of everything."""

from collections.abc import Mapping
from typing import Final

from prometheus_client.parser import text_string_to_metric_families

from extender.settings import ObserveSettings
from tests.builders import node, pod, resource_quota
from tests.kube.running import running
from tests.kube.server import ApiServer

HAMI: Final = ObserveSettings(shows_hami_names=True)

Samples = Mapping[tuple[str, frozenset[tuple[str, str]]], float]
"""Values by name and labels."""


def full_cluster() -> ApiServer:
    """Give two cards on a node, a pod that holds some of one, and a quota."""
    held = pod("p").app("a", gpu=1, gpumem=6_000, cores=25).on("n1")
    server = ApiServer().with_all(
        node("n1").gpu("GPU-a", memory=24_000).gpu("GPU-b", memory=24_000),
        held.phase("Running").holding("GPU-a,NVIDIA,6000,25:;"),
    )
    server.put(resource_quota("q", hard={"limits.nvidia.com/gpumem": 10_000}))
    return server


async def full_exposition() -> str:
    """Scrape it, HAMi's names too."""
    async with running(full_cluster(), observe=HAMI) as run:
        return run.extender.metrics.exposition().decode()


def samples_in(text: str) -> Samples:
    """Read an exposition; each sample is there once."""
    found: dict[tuple[str, frozenset[tuple[str, str]]], float] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            key = sample.name, frozenset(sample.labels.items())
            assert key not in found, key
            found[key] = sample.value
    return found


def sample(samples: Samples, name: str, **labels: str) -> float:
    """Give one sample."""
    return samples[name, frozenset(labels.items())]
