"""The first files: ``python -m tests.replays.made`` writes them anew.

Each is one fault that users of such schedulers reported.
"""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from extender.runtime import embed_to_look
from extender.settings import Settings
from extender.verbs.snapshot.anonymous import anonymous
from extender.wire.snapshots import encode_snapshot, packed
from tests.builders import Json, NodeBuilder, PodBuilder, node, pod, resource_quota
from tests.web.conftest import listed

HERE: Final = Path(__file__).parent

A10: Final = node("a").gpu("GPU-a", memory=24_000)
B10: Final = node("b").gpu("GPU-b", memory=24_000)
HELD: Final = pod("held").on("a").phase("Running")

CASES: Final[dict[str, list[NodeBuilder | PodBuilder | Json]]] = {
    # A sidecar runs beside the inits that are declared after it, and beside the app.
    "sidecar-beside-init": [
        A10,
        B10,
        HELD.app("x", gpu=1, gpumem=10_000).holding("GPU-a,NVIDIA,10000,0:;"),
        pod("asks")
        .init("first", gpu=1, gpumem=20_000)
        .sidecar("proxy", gpu=1, gpumem=2_000)
        .init("second", gpu=1, gpumem=13_000)
        .app("main", gpu=1, gpumem=12_000),
    ],
    # What one init holds, the next one gets: the largest counts, not the sum.
    "inits-follow-each-other": [
        A10,
        pod("asks")
        .init("first", gpu=1, gpumem=20_000)
        .init("second", gpu=1, gpumem=22_000)
        .app("main", gpu=1, gpumem=24_000),
    ],
    # Unreadable is not zero.
    "unreadable-allocation": [
        A10,
        HELD.app("x", gpu=1).holding("GPU-a,NVIDIA,oops,0:;"),
        pod("asks").app("main", gpu=1, gpumem=1_000),
    ],
    # A quota of 0 lets nothing in.
    "quota-of-zero": [
        A10,
        resource_quota("none", hard={"limits.nvidia.com/gpumem": 0}),
        pod("asks").app("main", gpu=1, gpumem=1_000),
    ],
    # Seven slices: instances have places, and not only sizes.
    "mig-places": [
        node("a").mig("GPU-a"),
        pod("asks").app("one", gpu=1, gpumem=20_000).app("two", gpu=1, gpumem=20_000),
    ],
    # Equal nodes: the first by name.
    "equal-nodes": [B10, A10, pod("asks").app("main", gpu=1, gpumem=1_000)],
    # Two cards of one container are two different ones.
    "two-cards-of-one": [A10, pod("asks").app("main", gpu=2, gpumem=1_000)],
}


def content_of(shown: list[NodeBuilder | PodBuilder | Json]) -> bytes:
    """Decide about the pod ``asks`` of a cluster."""
    with TemporaryDirectory() as scratch:
        file = Path(scratch) / "cluster.json"
        file.write_text(json.dumps(listed(*shown)))
        extender = embed_to_look([file], Settings())
    snapshot = extender.snapshots.take_named("default", "asks")
    return encode_snapshot(anonymous(snapshot))


def main() -> None:
    """Write all of them."""
    for name, shown in CASES.items():
        (HERE / f"{name}.json.gz").write_bytes(packed(content_of(shown)))


if __name__ == "__main__":
    main()
