"""Quotas as users reported them; the numbers are those of the cases."""

from typing import Final

import pytest

from extender.core.kind_set import Kinds
from extender.core.kinds import NVIDIA
from extender.core.names import PodUID
from extender.core.quota_room import UNLIMITED
from extender.state.events import QuotaGone, QuotaSeen
from extender.wire.resource_quota import read_quota
from tests.builders import Json, PodBuilder, node, pod, resource_quota
from tests.web.conftest import Serve
from tests.web.scheduler import Scheduler

N1: Final = node("n1").gpu("GPU-a", memory=24_000)
N2: Final = node("n2").gpu("GPU-b", memory=24_000)
MEM: Final = "limits.nvidia.com/gpumem"
NOT_FIT: Final = "ResourceQuotaNotFit"


def quota(most: object, key: str = MEM, name: str = "q", **spec: object) -> Json:
    """Limit one key of namespace t."""
    return resource_quota(name, "t", hard={key: str(most)}, **spec)


def asking(name: str, namespace: str = "t", **asks: int) -> PodBuilder:
    """Give a pod of one container."""
    return pod(name, namespace).app("a", **({"gpu": 1, **asks} if asks else {}))


def holding(name: str, memory: int) -> PodBuilder:
    """Give a running pod of namespace t on GPU-a."""
    wanted = asking(name, gpumem=memory).on("n1").phase("Running").running("a")
    return wanted.holding(f"GPU-a,NVIDIA,{memory},0:;")


def see(scheduler: Scheduler, changed: Json) -> None:
    """Let the API show a quota."""
    seen = QuotaSeen(read_quota(changed, Kinds([NVIDIA])))
    scheduler.extender.take_in(seen)


async def verdict(scheduler: Scheduler, wanted: PodBuilder) -> str:
    """Tell what filter says of n1: empty where it fits."""
    filtered = await scheduler.filter(wanted)
    assert filtered.unresolvable == {}
    return filtered.failed.get("n1", "")


async def test_39_zero_blocks(serve: Serve) -> None:
    """Only what is needed of it: not CPU-only pods, nor other namespaces."""
    scheduler = await serve(N1, quota(0))
    assert await verdict(scheduler, asking("a", gpumem=1)) == NOT_FIT
    assert await verdict(scheduler, asking("b")) == ""
    assert await verdict(scheduler, asking("c", "other", gpumem=1)) == ""
    scheduler = await serve(N1, quota(0, "limits.nvidia.com/gpucores"))
    assert await verdict(scheduler, asking("a", gpumem=1, cores=1)) == NOT_FIT
    assert await verdict(scheduler, asking("a", gpumem=1)) == ""
    scheduler = await serve(N1, quota(0, "limits.nvidia.com/gpu"))
    assert await verdict(scheduler, asking("a", gpumem=1)) == NOT_FIT


async def test_40_percentages_whole_cards_and_inits(serve: Serve) -> None:
    """All of them are charged what they come to."""
    scheduler = await serve(N1, quota(10_000))
    assert await verdict(scheduler, asking("a", percentage=50)) == NOT_FIT
    assert await verdict(scheduler, pod("b", "t").app("a", gpu=1)) == NOT_FIT
    init = pod("c", "t").init("p", gpu=1, gpumem=12_000).app("a")
    assert await verdict(scheduler, init) == NOT_FIT
    assert await verdict(scheduler, asking("d", percentage=40)) == ""
    assert await verdict(scheduler, asking("e", percentage=41)) == ""
    assert await verdict(scheduler, asking("f", percentage=42)) == NOT_FIT


async def test_41_one_of_three_fits(serve: Serve) -> None:
    """Of a burst, one passes; when it is gone, exactly one more."""
    pods = [asking(name, gpumem=6_000) for name in "xyz"]
    scheduler = await serve(N1, quota(10_000), *pods)
    assert [await verdict(scheduler, each) for each in pods] == ["", "", ""]
    bound = [await scheduler.bind(each, "n1") for each in pods]
    assert bound == ["", f"no longer fits: {NOT_FIT}", f"no longer fits: {NOT_FIT}"]
    assert await verdict(scheduler, pods[1]) == NOT_FIT
    scheduler.lose_pod(pods[0])
    assert [await scheduler.bind(each, "n1") for each in pods[1:]] == [
        "",
        f"no longer fits: {NOT_FIT}",
    ]


async def test_42_deletion_and_lowering(serve: Serve) -> None:
    """A quota that is gone limits nothing; one that is lowered lets pods run on."""
    scheduler = await serve(N1, quota(1_000), holding("h", 6_000))
    wanted = asking("p", gpumem=3_000)
    assert await verdict(scheduler, wanted) == NOT_FIT
    scheduler.extender.take_in(QuotaGone("t", "q"))
    assert await verdict(scheduler, wanted) == ""
    see(scheduler, quota(10_000))
    assert await verdict(scheduler, wanted) == ""
    see(scheduler, quota(2_000))
    assert await verdict(scheduler, wanted) == NOT_FIT
    assert await verdict(scheduler, asking("cpu")) == ""
    assert len(await scheduler.pods()) == 1
    scheduler.lose_pod(holding("h", 6_000))
    assert await verdict(scheduler, asking("s", gpumem=2_000)) == ""
    assert await verdict(scheduler, asking("m", gpumem=2_001)) == NOT_FIT


async def test_93_count_and_odd_values(serve: Serve) -> None:
    """The count is enforced; a number that cannot be read is neither 0 nor none."""
    pods = [asking(name, gpumem=1_000) for name in "xyz"]
    scheduler = await serve(N1, quota(2, "limits.nvidia.com/gpu"), *pods)
    bound = [await scheduler.bind(each, "n1") for each in pods]
    assert bound == ["", "", f"no longer fits: {NOT_FIT}"]
    for value in ("-1", "1500m"):
        scheduler = await serve(N1, quota(value))
        unreadable = await verdict(scheduler, asking("p", gpumem=1))
        assert unreadable == "ResourceQuotaUnreadable"
        assert await verdict(scheduler, asking("cpu")) == ""


async def test_105_peaks_that_never_coincide(serve: Serve) -> None:
    """Init 10000, app 10000: never more than 10000 at one time."""
    both = node("n1").gpu("GPU-a", memory=24_000).gpu("GPU-b", memory=24_000)
    wanted = (
        pod("p", "t").init("i", gpu=1, gpumem=10_000).app("a", gpu=1, gpumem=10_000)
    )
    scheduler = await serve(both, quota(12_000), wanted)
    assert await scheduler.bind(wanted, "n1") == ""
    another = asking("q", gpumem=2_001)
    assert await verdict(scheduler, another) == NOT_FIT
    assert await verdict(scheduler, asking("q", gpumem=2_000)) == ""


async def test_the_smallest_of_several_counts(serve: Serve) -> None:
    """Whichever came last, and whatever the other is deleted to."""
    scheduler = await serve(N1, quota(8_000), quota(20_000, name="r"))
    assert await verdict(scheduler, asking("p", gpumem=8_001)) == NOT_FIT
    scheduler.extender.take_in(QuotaGone("t", "r"))
    assert await verdict(scheduler, asking("p", gpumem=8_001)) == NOT_FIT


async def test_two_apps_beside_an_init_without_cards(serve: Serve) -> None:
    """HAMi takes the first app's row for the init's, and lets 32000 pass 24000."""
    wanted = (
        pod("p", "t")
        .init("i")
        .app("a", gpu=1, gpumem=16_000)
        .app("b", gpu=1, gpumem=16_000)
    )
    both = node("n1").gpu("GPU-a", memory=24_000).gpu("GPU-b", memory=24_000)
    scheduler = await serve(both, quota(24_000))
    assert await verdict(scheduler, wanted) == NOT_FIT


async def test_cards_times_amounts(serve: Serve) -> None:
    """Per card amounts, and cores, times the cards."""
    wanted = pod("p", "t").app("a", gpu=2, gpumem=5_000, cores=30)
    both = node("n1").gpu("GPU-a", memory=24_000).gpu("GPU-b", memory=24_000)
    for key, need in {
        MEM: 10_000,
        "limits.nvidia.com/gpucores": 60,
        "limits.nvidia.com/gpu": 2,
    }.items():
        scheduler = await serve(both, quota(need, key))
        assert await verdict(scheduler, wanted) == ""
        scheduler = await serve(both, quota(need - 1, key))
        assert await verdict(scheduler, wanted) == NOT_FIT


@pytest.mark.parametrize(
    ("spec", "counts"),
    [
        ({"scopes": ["Terminating"]}, False),
        ({"scopes": ["NotTerminating"]}, True),
        ({"scopes": ["BestEffort"]}, True),
        ({"scopes": ["NotBestEffort"]}, False),
        ({"scopes": ["PriorityClass"]}, False),
    ],
)
async def test_a_quota_counts_pods_in_its_scopes(
    serve: Serve, spec: Json, *, counts: bool
) -> None:
    """Neither is a pod limited by, nor charged to, a quota of other pods."""
    scheduler = await serve(N1, quota(10_000, **spec), holding("h", 6_000))
    [each] = scheduler.extender.ledger.quotas
    [use] = scheduler.extender.ledger.quotas.uses(each)
    assert use.used == (6_000 if counts else 0)
    expected = NOT_FIT if counts else ""
    assert await verdict(scheduler, asking("p", gpumem=5_000)) == expected


async def test_percentages_by_the_card_at_hand(serve: Serve) -> None:
    """On nodes with other cards, the same pod comes to more or less."""
    small = node("n2").gpu("GPU-b", memory=8_000)
    mixed = node("n3").gpu("GPU-c", memory=24_000).gpu("GPU-d", memory=8_000)
    wanted = asking("p", percentage=50)
    scheduler = await serve(N1, small, mixed, quota(6_000), wanted)
    filtered = await scheduler.filter(wanted)
    assert filtered.node_names == ["n2", "n3"]
    assert filtered.failed == {"n1": NOT_FIT}
    assert await scheduler.bind(wanted, "n1") == f"no longer fits: {NOT_FIT}"
    assert await scheduler.bind(wanted, "n3") == ""
    shown = await scheduler.shown(wanted)
    rows = shown["metadata"]["annotations"]["hami.io/vgpu-devices-allocated"]
    assert rows == "GPU-d,NVIDIA,4000,0:;"


async def test_a_pod_is_judged_without_its_own_reservation(serve: Serve) -> None:
    """A bind that follows another of the same pod does not meet itself."""
    wanted = asking("p", gpumem=6_000)
    scheduler = await serve(N1, N2, quota(10_000), wanted)
    assert await scheduler.bind(wanted, "n1") == ""
    ledger = scheduler.extender.ledger
    pod_shown = ledger.pods[PodUID(wanted.pod_uid)]
    [use] = ledger.quota_rooms(pod_shown)["NVIDIA"].uses
    assert use.used == 0


@pytest.mark.parametrize("most", [2**62, 2**63, 10**30])
async def test_a_limit_beyond_all_numbers_is_none(serve: Serve, most: int) -> None:
    """A quantity may be as large as one likes; the other limit counts on."""
    small = node("n1").gpu("GPU-a", memory=10_000).gpu("GPU-b", memory=40_000)
    hard: dict[str, int | str] = {MEM: 10_000, "limits.nvidia.com/gpu": str(most)}
    large, wanted = node("n2").gpu("GPU-c", memory=40_000), asking("a", percentage=50)
    scheduler = await serve(small, large, resource_quota("q", "t", hard=hard), wanted)
    filtered = await scheduler.filter(wanted)
    assert filtered.node_names == ["n1"]
    assert filtered.failed == {"n2": NOT_FIT}
    assert await scheduler.bind(wanted, "n1") == ""


def test_a_limit_beyond_all_numbers_is_read_as_the_largest() -> None:
    """So that whoever writes it as JSON can."""
    (limit,) = read_quota(quota(10**30), Kinds([NVIDIA])).limits
    assert limit.most == UNLIMITED
