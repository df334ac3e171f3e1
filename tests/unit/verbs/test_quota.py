"""Which cards a pod gets where a quota leaves it little."""

from extender.core.quota_room import (
    LimitUse,
    QuotaDimension,
    QuotaLimit,
    QuotaRoom,
)
from extender.core.reasons import Reason
from extender.core.usage import Usage
from extender.verbs.bind import choose_devices
from extender.verbs.filter import filter_nodes
from extender.verbs.quota import charge_at_admission
from extender.verbs.verdicts import judge_node
from tests.values import (
    GPU,
    N1,
    N2,
    Asked,
    app,
    card,
    fleet_of,
    init,
    node,
    pod,
    request,
)

SMALL = card("GPU-s", memory=8_000)
MIDDLE = card("GPU-m", index=1, memory=24_000)
LARGE = card("GPU-l", index=2, memory=40_000)


def room(most: int | None, used: int = 0) -> dict[str, QuotaRoom]:
    """Leave a pod so much memory."""
    limit = QuotaLimit(
        "limits.x", GPU, QuotaDimension.MEMORY, "MiB", most, "unreadable"
    )
    return {GPU: QuotaRoom((LimitUse("q", limit, used),))}


def cards_within(most: int, *containers: Asked) -> list[list[str]] | None:
    """Name the cards of each container, on a node of three sizes."""
    wanted = pod("p", request(*containers))
    fleet = fleet_of([node(N1, SMALL, MIDDLE, LARGE)])
    rooms = room(most)
    allocation = choose_devices(fleet, wanted, N1, None, rooms=rooms)
    fits = filter_nodes(fleet, wanted, [N1], None, rooms=rooms).fitting == [N1]
    assert fits is (allocation is not None)
    if allocation is None:
        return None
    return [[str(share.device_uuid) for share in row] for row in allocation]


def percent(share: int, count: int = 1) -> Asked:
    """Ask for a part of each card."""
    return app(None, percent=share, count=count)


def test_cheaper_cards_are_found() -> None:
    """Of three sizes, those that stay within the quota."""
    assert cards_within(36_000, percent(50)) is not None
    assert cards_within(4_000, percent(50)) == [["GPU-s"]]
    assert cards_within(3_999, percent(50)) is None
    assert cards_within(16_000, percent(50, 2)) == [["GPU-s", "GPU-m"]]
    assert cards_within(15_999, percent(50, 2)) is None


def test_an_init_takes_cheaper_cards() -> None:
    """It takes those that the rest holds, unless they come to too much."""
    wanted = init(None, percent=100, count=2)
    assert cards_within(32_000, wanted, app(1_000)) is not None
    assert cards_within(31_999, wanted, app(1_000)) is None
    rows = cards_within(32_000, wanted, app(20_000))
    assert rows is not None
    assert sorted(rows[0]) == ["GPU-m", "GPU-s"]


def test_bounds_spare_the_look_at_cards() -> None:
    """Too much on the smallest matching card is too much anywhere."""
    fleet = fleet_of([node(N1, SMALL), node(N2, LARGE)])
    wanted = pod("p", request(app(None, percent=50)))
    assert charge_at_admission(fleet, wanted) == {GPU: Usage(1, 4_000)}
    names = [N1, N2]
    everywhere = filter_nodes(fleet, wanted, names, None, rooms=room(3_999))
    assert everywhere.failed == dict.fromkeys(names, Reason.QUOTA_NOT_FIT.value)
    some = filter_nodes(fleet, wanted, names, None, rooms=room(19_999))
    assert (some.fitting, some.failed) == ([N1], {N2: Reason.QUOTA_NOT_FIT.value})
    every = filter_nodes(fleet, wanted, names, None, rooms=room(20_000))
    assert every.fitting == names


def test_a_verdict_has_the_numbers() -> None:
    """Of the cards that the pod would get without a quota."""
    fleet = fleet_of([node(N1, SMALL), node(N2, LARGE)])
    wanted = pod("p", request(app(None, percent=50)))
    rooms = room(22_000, used=3_000)
    verdict = judge_node(fleet, wanted, N2, None, rooms=rooms)
    assert verdict is not None
    assert verdict.reasons == (Reason.QUOTA_NOT_FIT,)
    assert [str(each) for each in verdict.shortages] == [
        "quota q: limits.x: needs 20000, 3000 of 22000 MiB used"
    ]
    assert judge_node(fleet, wanted, N1, None, rooms=rooms) is None


def test_an_unreadable_limit_has_its_own_reason() -> None:
    """With what is wrong instead of numbers."""
    fleet = fleet_of([node(N1, SMALL)])
    verdict = judge_node(fleet, pod("p", request(app())), N1, None, rooms=room(None))
    assert verdict is not None
    assert verdict.reasons == (Reason.QUOTA_UNREADABLE,)
    assert [str(each) for each in verdict.shortages] == [
        "quota q: limits.x: unreadable"
    ]
