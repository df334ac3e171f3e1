"""What each life of a pod is charged, as it is seen live and after a restart."""

from dataclasses import dataclass
from typing import Final

import pytest

from extender.core.names import NodeName, PodUID
from extender.state.holdings import Footing
from tests.builders import Json, PodBuilder, pod
from tests.kube.running import ONE_CARD, Running, running
from tests.kube.server import ApiServer, until
from tests.values import totals_of

pytestmark = pytest.mark.timeout(30)

UNBOUND: Final = pod("p").app("a", gpu=1, gpumem=16_000)
ANNOTATED: Final = UNBOUND.holding("GPU-a,NVIDIA,16000,0:;").annotations(
    {"hami.io/vgpu-node": "n1"}
)
RUNNING: Final = ANNOTATED.on("n1").phase("Running").running("a")
N1: Final = NodeName("n1")
LAST: Final = pod("last").app("a", gpu=1)


def telling(shown: PodBuilder, **status: str) -> Json:
    """Show a pod with more in its status, such as a reason."""
    built = shown.build()
    built["status"] |= status
    return built


@dataclass(frozen=True, slots=True)
class Life:
    """How a pod is shown, one view after another; None at the end is a deletion.

    Attributes:
        views: What the API shows.
        memory_mib: What the pod holds of the card in the end.
        slots: How many device ids kubelet has set aside for it then.
        footing: Why; None where the pod is unknown.
    """

    views: tuple[PodBuilder | Json | None, ...]
    memory_mib: int
    slots: int
    footing: Footing | None


LIVES: Final = {
    "evicted by kubelet": Life(
        (
            RUNNING,
            telling(
                RUNNING.phase("Failed"),
                reason="Evicted",
                message="The node was low on resource: memory.",
            ),
        ),
        0,
        0,
        Footing.NOTHING,
    ),
    "evicted, and deleted later": Life(
        (RUNNING, telling(RUNNING.phase("Failed"), reason="Evicted"), None),
        0,
        0,
        None,
    ),
    "to be evicted, and still there": Life(
        (RUNNING, RUNNING.condition("DisruptionTarget", status=True)),
        16_000,
        1,
        Footing.ALLOCATED,
    ),
    "its node is lost": Life(
        (RUNNING, telling(RUNNING.phase("Unknown"), reason="NodeLost")),
        16_000,
        1,
        Footing.ALLOCATED,
    ),
    "deleted from a lost node, and kubelet has not said that it ended": Life(
        (
            RUNNING,
            RUNNING.condition("Ready", status=False)
            .condition("DisruptionTarget", status=True)
            .terminating(),
        ),
        16_000,
        1,
        Footing.ALLOCATED,
    ),
    "deleted with force while it ran": Life((RUNNING, None), 0, 0, None),
    "created with a node name": Life((UNBOUND.on("n1"),), 0, 1, Footing.UNMANAGED),
    "created with a node name, and it runs": Life(
        (UNBOUND.on("n1"), UNBOUND.on("n1").phase("Running").running("a")),
        0,
        1,
        Footing.UNMANAGED,
    ),
    "created with a node name and annotations": Life(
        (ANNOTATED.on("n1"),), 16_000, 1, Footing.ALLOCATED
    ),
    "annotated and never bound": Life((ANNOTATED, ANNOTATED), 0, 0, Footing.NOTHING),
    "bound by somebody else without annotations": Life(
        (UNBOUND, UNBOUND.on("n1")), 0, 1, Footing.UNMANAGED
    ),
    "bound by somebody else elsewhere than annotated": Life(
        (ANNOTATED, ANNOTATED.on("n2")), 0, 0, Footing.ALLOCATED
    ),
}


def end_of(run: Running) -> tuple[int, int, Footing | None]:
    """Tell what the pod holds on the node, and why."""
    ledger = run.extender.ledger
    totals = totals_of(ledger.fleet, N1)
    standing = ledger.standing(PodUID(UNBOUND.pod_uid))
    assert totals is not None
    return run.used(), totals.kubelet_slots, standing.footing if standing else None


@pytest.mark.parametrize("life", LIVES.values(), ids=LIVES)
async def test_life_of_a_pod(life: Life) -> None:
    """Seen event by event, or only as it is in the end: it counts for the same."""
    expected = life.memory_mib, life.slots, life.footing
    server = ApiServer().with_all(ONE_CARD)
    async with running(server) as run:
        for view in life.views:
            if view is None:
                server.delete(UNBOUND)
            else:
                server.put(view)
        server.put(LAST)
        ledger = run.extender.ledger
        await until(lambda: PodUID(LAST.pod_uid) in ledger.pods)
        assert expected == end_of(run)
    async with running(server) as restarted:
        assert expected == end_of(restarted)
