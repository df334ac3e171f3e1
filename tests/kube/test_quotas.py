"""Quotas by list and watch: they come, change and go; at no moment unlimited."""

from collections.abc import AsyncIterator

import pytest

from extender.core.quota import UNKNOWN
from extender.core.quota_room import UNLIMITED
from extender.core.reasons import Reason
from extender.kube.cluster import QUOTAS
from tests.builders import node, pod, resource_quota
from tests.kube.running import Running, running
from tests.kube.server import ApiServer, Json, answers, until
from tests.kube.test_auditing import metric

pytestmark = pytest.mark.timeout(20)

MEM = "limits.nvidia.com/gpumem"
CARD = node("n1").gpu("GPU-a", memory=24_000)
HELD = pod("h").app("a", gpu=1, gpumem=6_000).holding("GPU-a,NVIDIA,6000,0:;").on("n1")


def quota(most: int | str, name: str = "q") -> Json:
    """Limit memory in the default namespace."""
    return resource_quota(name, hard={MEM: most})


def limits(running: Running) -> dict[str, tuple[int | None, int]]:
    """Give each quota's memory limit, and what is used of it."""
    quotas = running.extender.ledger.quotas
    return {
        each.name: (use.limit.most, use.used)
        for each in quotas
        for use in quotas.uses(each)
    }


@pytest.fixture
async def running_with_quota() -> AsyncIterator[Running]:
    """Run an extender on a card, a bound pod of 6000 MiB, and a quota of 10000."""
    server = ApiServer().with_all(CARD, HELD.phase("Running"))
    server.put(quota(10_000))
    async with running(server) as each:
        yield each


async def test_listed_before_ready(running_with_quota: Running) -> None:
    """Limit and use are there as soon as it answers."""
    assert limits(running_with_quota) == {"q": (10_000, 6_000)}


async def test_a_change_is_never_without_a_limit(running_with_quota: Running) -> None:
    """Case 42: 10000 to 2000 while 6000 are used, in one step."""
    each = running_with_quota
    each.server.put(quota(2_000))

    def has_changed() -> bool:
        assert "q" in limits(each)
        return limits(each)["q"] == (2_000, 6_000)

    await until(has_changed)


async def test_deletion_lifts_the_limit(running_with_quota: Running) -> None:
    """By an event."""
    each = running_with_quota
    each.server.delete(quota(10_000))
    await until(lambda: limits(each) == {})


async def test_deletion_while_the_watch_was_down(running_with_quota: Running) -> None:
    """Case 42: no event tells of it, a list does."""
    each = running_with_quota
    each.server.delete(quota(10_000), silently=True)
    each.server.put(quota(3_000, "other"))
    await until(lambda: len(limits(each)) == 2)
    each.server.fail("GET", "resourcequotas?watch", answers(410))
    each.server.tell("resourcequotas", "ERROR", {"kind": "Status", "code": 410})
    await until(lambda: limits(each) == {"other": (3_000, 6_000)})
    assert len(each.server.asked("GET", QUOTAS, "limit=")) == 2


async def test_an_unreadable_limit_is_kept_as_such(running_with_quota: Running) -> None:
    """Neither 0 nor without a limit."""
    each = running_with_quota
    each.server.put(quota("1500m"))
    await until(lambda: limits(each) == {"q": (None, 6_000)})


async def test_a_quota_that_is_none_changes_nothing(
    running_with_quota: Running,
) -> None:
    """What cannot be read at all leaves the last that could."""
    each = running_with_quota
    broken = quota(1)
    broken["spec"]["hard"] = []
    each.server.put(broken)
    each.server.put(quota(7, "later"))
    await until(lambda: "later" in limits(each))
    assert limits(each)["q"] == (10_000, 6_000)


def unreadable(running: Running) -> dict[str, str]:
    """Tell why quotas cannot be read."""
    return {each.name: each.unreadable for each in running.extender.ledger.quotas}


async def test_a_quota_that_is_none_goes_on_to_count(
    running_with_quota: Running,
) -> None:
    """However often it is shown so, it is told, and counts as it was read last."""
    each = running_with_quota
    for number in range(2):
        shown = quota(1)
        shown["spec"]["hard"] = "x" if number else 0
        each.server.put(shown)
        await until(lambda: unreadable(each)["q"] != "")
        assert "it counts as it was read last" in unreadable(each)["q"]
    await until(lambda: "'x'" in unreadable(each)["q"])
    assert limits(each)["q"] == (10_000, 6_000)
    assert metric(each.extender, "quotas_unreadable") == 1
    each.server.put(quota(10_001))
    await until(lambda: limits(each)["q"] == (10_001, 6_000))
    assert unreadable(each) == {"q": ""}
    assert metric(each.extender, "quotas_unreadable") == 0


async def test_a_quota_that_was_never_readable_limits(
    running_with_quota: Running, caplog: pytest.LogCaptureFixture
) -> None:
    """Of its namespace, no pod gets a device until it is mended; others go on."""
    each = running_with_quota
    broken = resource_quota("other", "t", hard={MEM: 90_000})
    broken["spec"]["hard"] = []
    each.server.put(broken)
    await until(lambda: "other" in limits(each))
    asks, elsewhere = (
        pod("w", namespace).app("a", gpu=1, gpumem=1_000) for namespace in ("t", "d")
    )
    assert each.filter(asks).fitting == []
    assert each.filter(asks).failed == {"n1": Reason.QUOTA_UNREADABLE.value}
    assert each.filter(elsewhere).fitting == ["n1"]
    assert "spec.hard" in caplog.text
    scoped = resource_quota("other", "t", hard={MEM: 999}, scopes="odd")
    each.server.put(scoped)
    await until(lambda: limits(each)["other"] == (999, 0))
    each.server.put(broken)
    await until(lambda: limits(each)["other"] == (None, 0))
    assert metric(each.extender, "quotas_unreadable") == 1
    each.server.put(resource_quota("other", "t", hard={MEM: 90_000}))
    await until(lambda: each.filter(asks).fitting == ["n1"])
    each.server.put(broken)
    await until(lambda: unreadable(each)["other"] != "")
    assert each.filter(asks).fitting == ["n1"]


async def test_a_quota_whose_scopes_cannot_be_read_counts_every_pod(
    running_with_quota: Running,
) -> None:
    """Its keys limit as they say."""
    each = running_with_quota
    each.server.put(resource_quota("s", hard={MEM: 6_500}, scopes="odd"))
    await until(lambda: limits(each).get("s") == (6_500, 6_000))
    assert "spec.scopes" in unreadable(each)["s"]


async def test_a_released_phase_is_used_no_more(running_with_quota: Running) -> None:
    """And is again when it returns; a pod that is over uses nothing."""
    each = running_with_quota
    both = (
        pod("i")
        .init("i", gpu=1, gpumem=9_000)
        .app("a", gpu=1, gpumem=1_000)
        .holding("GPU-a,NVIDIA,9000,0:;GPU-a,NVIDIA,1000,0:;")
        .on("n1")
    )
    each.server.put(both)
    await until(lambda: limits(each)["q"][1] == 15_000)
    each.server.put(both.phase("Running").exited("i").running("a"))
    await until(lambda: limits(each)["q"][1] == 7_000)
    each.server.put(both.phase("Succeeded"))
    await until(lambda: limits(each)["q"][1] == 6_000)


async def test_an_unreadable_allocation_leaves_no_room(
    running_with_quota: Running,
) -> None:
    """What it asks for is charged; a percentage is of nobody knows which card."""
    each = running_with_quota
    torn = pod("t").app("a", gpu=1, gpumem=1_000).holding("torn").on("n1")
    each.server.put(torn)
    await until(lambda: limits(each)["q"][1] == 7_000)
    each.server.put(quota("10E"))
    each.server.put(pod("u").app("a", gpu=1, percentage=50).holding("torn").on("n1"))
    await until(lambda: limits(each)["q"] == (UNLIMITED, 7_000 + UNKNOWN))
    another = pod("v").app("a", gpu=1, gpumem=1)
    assert each.filter(another).failed == {"n1": Reason.QUOTA_NOT_FIT.value}


async def test_annotations_of_unbound_pods_are_no_charge(
    running_with_quota: Running,
) -> None:
    """Case 15: only our own reservation is."""
    each = running_with_quota
    each.server.put(
        pod("w").app("a", gpu=1, gpumem=1_000).holding("GPU-a,NVIDIA,1000,0:;")
    )
    await until(lambda: len(each.extender.ledger.pods) == 2)
    assert limits(each) == {"q": (10_000, 6_000)}
