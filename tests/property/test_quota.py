"""The quota charge against the timeline, and laws that hold for every pod."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from extender.core.allocation import Share
from extender.core.container import ContainerUsage, Lifetime
from extender.core.names import DeviceUUID
from extender.core.phases import effective_usage, released_init_count
from extender.core.pod import Release
from extender.core.pod_status import PodStatus
from extender.core.quota import allocation_charges, quota_charge
from extender.core.usage import NOTHING, Usage
from tests.oracles import timeline_quota
from tests.strategies import container_usages, living_pods, releases


@given(living_pods(), releases())
def test_quota_charge_is_the_most_that_any_instant_holds(
    case: tuple[list[ContainerUsage], PodStatus], release: Release
) -> None:
    """The formula, and a step-by-step start of what can still start, agree."""
    containers, status = case
    lifetimes = [container.lifetime for container in containers]
    released = released_init_count(lifetimes, status, release)
    charge = quota_charge(containers, released_inits=released)
    if status.is_finished:
        return  # whoever holds nothing is not asked about
    assert charge == timeline_quota(containers, status, release)


@given(container_usages())
def test_quota_charge_is_at_most_the_sum_of_the_cards_peaks(
    containers: list[ContainerUsage],
) -> None:
    """Peaks of different cards need not meet; no single card's peak is above it."""
    charge, peaks = quota_charge(containers), effective_usage(containers)
    summed = sum(peaks.values(), NOTHING)
    assert not charge.exceeds(summed)
    assert not any(peak.exceeds(charge) for peak in peaks.values())


@given(container_usages())
def test_what_is_released_never_raises_the_charge(
    containers: list[ContainerUsage],
) -> None:
    """Init by init, it falls or stays."""
    inits = sum(each.lifetime is Lifetime.INIT for each in containers)
    charges = [
        quota_charge(containers, released_inits=number) for number in range(inits + 1)
    ]
    for before, after in pairwise(charges):
        assert not after.exceeds(before)


def shares(kind: str) -> st.SearchStrategy[Share]:
    """Describe a share of a card of a kind."""
    return st.builds(
        Share,
        st.sampled_from([DeviceUUID("a"), DeviceUUID("b")]),
        st.integers(0, 9_000),
        st.integers(0, 100),
        st.just(kind),
        st.booleans(),
    )


@given(
    st.lists(
        st.tuples(
            st.sampled_from(Lifetime),
            st.lists(shares("NVIDIA"), max_size=2),
            st.lists(shares("DCU"), max_size=2),
        ),
        max_size=5,
    )
)
def test_each_kind_is_charged_alone(
    pod: list[tuple[Lifetime, list[Share], list[Share]]],
) -> None:
    """Rows of two kinds are charged as those of each kind alone, whatever the UUIDs."""
    lifetimes = [lifetime for lifetime, _, _ in pod]
    together = tuple((*some, *others) for _, some, others in pod)
    alone = {
        **allocation_charges(lifetimes, tuple(tuple(some) for _, some, _ in pod)),
        **allocation_charges(lifetimes, tuple(tuple(other) for _, _, other in pod)),
    }
    assert allocation_charges(lifetimes, together) == alone


def test_init_and_app_on_different_cards_are_not_summed() -> None:
    """The case of users: init 10000 on one card, app 10000 on another, is 10000."""
    one, other = DeviceUUID("GPU-a"), DeviceUUID("GPU-b")
    pod = [
        ContainerUsage(Lifetime.INIT, {one: Usage(1, 10_000)}),
        ContainerUsage(Lifetime.APP, {other: Usage(1, 10_000)}),
    ]
    assert quota_charge(pod) == Usage(1, 10_000)
    assert sum(effective_usage(pod).values(), NOTHING) == Usage(2, 20_000)
