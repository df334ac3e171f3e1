"""HAMi's rule against plain loops, and where both rules must agree."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from extender.core.allocation import Allocation, Row, Share
from extender.core.container import Lifetime
from extender.core.hami_charge import (
    excess,
    hami_charge,
    is_shrunk,
    rows_as_written,
)
from extender.core.names import DeviceUUID
from extender.core.phases import container_usages, effective_usage
from extender.core.pod_status import PodStatus, RunState
from extender.core.usage import NOTHING, Usage
from extender.verbs.shadow import Outcome, Seat, charge_by_hami, judge_assignment
from tests.strategies import DEVICE_UUIDS, pod_statuses
from tests.values import (
    GPU,
    N1,
    Asked,
    app,
    card,
    fleet_of,
    held,
    init,
    node,
    pod,
    request,
    sidecar,
)

AMOUNTS = st.integers(1, 30_000)
PERCENTS = st.integers(0, 100)


@st.composite
def rows(draw: st.DrawFn) -> Row:
    """Draw what one container holds: each card once at most."""
    uuids = draw(st.lists(st.sampled_from(DEVICE_UUIDS), unique=True, max_size=3))
    return tuple(Share(uuid, draw(AMOUNTS), draw(PERCENTS), GPU) for uuid in uuids)


def allocations() -> st.SearchStrategy[list[Row]]:
    """Draw the rows of a pod."""
    return st.lists(rows(), max_size=8)


def larger(inits: Sequence[int], apps: Sequence[int]) -> int:
    """Take the largest of inits, or all apps together."""
    return max([sum(apps), *inits])


def charge_in_plain_loops(
    init_count: int, written: Sequence[Row], *, shrunk: bool
) -> dict[DeviceUUID, Usage]:
    """Work HAMi's charge out card by card, dimension by dimension."""
    found = {}
    for uuid in DEVICE_UUIDS:
        inits = [each for row in written[:init_count] for each in row]
        apps = [each for row in written[init_count:] for each in row]
        inits = [] if shrunk else [each for each in inits if each.device_uuid == uuid]
        apps = [each for each in apps if each.device_uuid == uuid]
        if inits or apps:
            found[uuid] = Usage(
                max(1 if inits else 0, len(apps)),
                larger(
                    [each.memory_mib for each in inits],
                    [each.memory_mib for each in apps],
                ),
                larger(
                    [each.core_percent for each in inits],
                    [each.core_percent for each in apps],
                ),
            )
    return found


@given(written=allocations(), init_count=st.integers(0, 8), shrunk=st.booleans())
def test_hami_charge_is_that_of_plain_loops(
    written: list[Row], init_count: int, *, shrunk: bool
) -> None:
    """Any rows, any number of inits, before and after its shrink."""
    expected = charge_in_plain_loops(init_count, written, shrunk=shrunk)
    assert hami_charge(init_count, written, is_shrunk=shrunk) == expected


@given(allocations())
def test_without_inits_both_rules_charge_the_same(allocation: list[Row]) -> None:
    """All containers are apps: their sum; rows that hold nothing change nothing."""
    lifetimes = [Lifetime.APP] * len(allocation)
    ours = effective_usage(container_usages(lifetimes, tuple(allocation)))
    assert hami_charge(0, rows_as_written(tuple(allocation))) == ours


@given(allocations(), st.data())
def test_our_charge_is_hamis_and_more_where_no_row_is_empty(
    allocation: list[Row], data: st.DataObject
) -> None:
    """Sidecars are what HAMi counts too little of; it counts nothing twice."""
    filled = [row for row in allocation if row]
    init_count = data.draw(st.integers(0, len(filled)))
    kinds = st.sampled_from([Lifetime.INIT, Lifetime.SIDECAR])
    lifetimes = [data.draw(kinds) for _ in range(init_count)]
    lifetimes += [Lifetime.APP] * (len(filled) - init_count)
    ours = effective_usage(container_usages(lifetimes, tuple(filled)))
    theirs = hami_charge(init_count, filled)
    assert excess(theirs, ours) == {}
    if Lifetime.SIDECAR not in lifetimes:
        assert excess(ours, theirs) == {}


@given(pod_statuses(), st.lists(st.sampled_from(Lifetime), max_size=5))
def test_hami_shrinks_once_every_init_has_ended_well(
    status: PodStatus, lifetimes: list[Lifetime]
) -> None:
    """A sidecar that runs, or an init that failed, keeps the peak."""
    inits = [
        status.of(index)
        for index, each in enumerate(lifetimes)
        if each is not Lifetime.APP
    ]
    ended = [
        each.run_state is RunState.TERMINATED and each.exit_code == 0 for each in inits
    ]
    assert is_shrunk(lifetimes, status) == (ended != [] and False not in ended)


@given(
    st.lists(st.integers(1, 12_000), min_size=1, max_size=4),
    st.integers(0, 24_000),
    st.integers(1, 6),
)
def test_without_inits_our_verdict_is_hamis_formula(
    asked: list[int], used: int, slots: int
) -> None:
    """On one card: overcommitted where its sum does not fit, else as we choose."""
    shown = node(N1, card("GPU-a", memory=24_000, slots=slots))
    beside = [held(N1, {"GPU-a": Usage(1, used)}, kubelet=1)]
    asking = pod("p", request(*(app(each) for each in asked)))
    uuid = DeviceUUID("GPU-a")
    allocation: Allocation = tuple((Share(uuid, each, 0, GPU),) for each in asked)
    theirs = charge_by_hami(asking, allocation)[uuid]
    said = judge_assignment(
        asking, N1, allocation, Seat(fleet_of([shown], beside), shown, beside)
    )
    fits = not (theirs + Usage(1, used)).exceeds(Usage(slots, 24_000, 100))
    assert said.outcome is (Outcome.AGREES if fits else Outcome.OVERCOMMITS)


KINDS = {Lifetime.INIT: init, Lifetime.SIDECAR: sidecar, Lifetime.APP: app}


@given(
    st.lists(
        st.tuples(
            st.sampled_from([Lifetime.INIT, Lifetime.SIDECAR]), st.integers(1, 16_000)
        ),
        max_size=4,
    ),
    st.integers(1, 16_000),
)
def test_a_phase_is_named_where_and_only_where_a_card_is_overcommitted(
    declared: list[tuple[Lifetime, int]], last: int
) -> None:
    """And no verdict is worse than the charge says."""
    shown = node(N1, card("GPU-a", memory=24_000, slots=10))
    containers = [*declared, (Lifetime.APP, last)]
    asked: list[Asked] = [KINDS[kind](mib) for kind, mib in containers]
    uuid = DeviceUUID("GPU-a")
    allocation: Allocation = tuple((Share(uuid, mib, 0, GPU),) for _, mib in containers)
    said = judge_assignment(
        pod("p", request(*asked)), N1, allocation, Seat(fleet_of([shown]), shown)
    )
    (figures,) = said.cards
    is_over = figures.ours.memory_mib > 24_000
    assert (said.outcome is Outcome.OVERCOMMITS) == is_over
    assert (figures.phase is not None) == is_over
    assert figures.others == NOTHING
