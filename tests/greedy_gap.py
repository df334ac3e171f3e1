"""What the search finds that choosing card by card misses.

``python -m tests.greedy_gap`` prints a table over a fixed sample of small cases: nodes
of 1 to 4 cards in part use, pods of 1 to 4 containers. ``tests/property`` holds the
counts to their known values.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final, TypeVar

from rich.console import Console
from rich.table import Table

from extender.core.device_policy import BINPACK_CARDS, SPREAD_CARDS
from extender.core.pod_request import PodRequest
from extender.core.usage import Usage
from extender.verbs.bind import choose_devices
from tests.oracles import (
    Loaded,
    Placed,
    exhaustive_fits,
    for_inits_only,
    place_greedily,
)
from tests.values import (
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

SAMPLE_SIZE: Final = 3_000
SEED: Final = 753

_T = TypeVar("_T")

_PLENTY: Final = 1_000
"""Device ids that kubelet has; so that cards decide, not ids."""


@dataclass(frozen=True, slots=True)
class Gap:
    """One group of the sample.

    Attributes:
        cases: How many there are.
        possible: Where some choice of cards fits.
        greedily_missed: Possible, but choosing card by card does not fit.
        greedily_wasteful: Where that fits, with more cards for inits only than needed.
        missed: Possible, but bind finds nothing; must be 0.
        wasteful: What bind finds has more cards for inits only than needed; must be 0.
        unsound: bind finds something where nothing is possible; must be 0.
    """

    cases: int = 0
    possible: int = 0
    greedily_missed: int = 0
    greedily_wasteful: int = 0
    missed: int = 0
    wasteful: int = 0
    unsound: int = 0


_POLICIES: Final = (BINPACK_CARDS, SPREAD_CARDS)


def measure(sample_size: int = SAMPLE_SIZE) -> dict[str, Gap]:
    """Count over the sample, by the first word of the pod's policy for cards."""
    counts = {policy: Counter[str]() for policy in _POLICIES}
    for loaded, wanted in _sample(sample_size):
        counts[wanted.device_policy].update(_judge(loaded, wanted))
    return {policy.keys[0].value: Gap(**counted) for policy, counted in counts.items()}


def _judge(loaded: Sequence[Loaded], wanted: PodRequest) -> dict[str, int]:
    """Tell which columns of the table one case counts in."""
    shown = node(N1, *(device for device, _ in loaded), allocatable=_PLENTY)
    use = {str(device.device_uuid): used for device, used in loaded}
    fleet = fleet_of([shown], [held(N1, use)])
    rows = choose_devices(fleet, pod("p", wanted), N1, None)
    best = exhaustive_fits(loaded, _PLENTY, 0, wanted)
    greedy = place_greedily(loaded, _PLENTY, 0, wanted)
    fewest = best.fewest_for_inits or 0
    found = [[share.device_uuid for share in row] for row in rows or ()]
    counted = {
        "cases": 1,
        "possible": best.fits,
        "missed": best.fits and rows is None,
        "wasteful": bool(found) and for_inits_only(found, wanted.lifetimes) > fewest,
        "unsound": rows is not None and not best.fits,
    }
    if isinstance(greedy, Placed):
        extra = for_inits_only(greedy.rows, wanted.lifetimes)
        return counted | {"greedily_wasteful": extra > fewest}
    return counted | {"greedily_missed": best.fits}


def _sample(sample_size: int) -> Iterator[tuple[list[Loaded], PodRequest]]:
    random = Random(SEED)
    for _ in range(sample_size):
        loaded = [_loaded(random, index) for index in range(1 + _below(random, 4))]
        yield loaded, _wanted(random, len(loaded))


def _loaded(random: Random, index: int) -> Loaded:
    used = Usage()
    if _below(random, 2):
        used = Usage(
            1 + _below(random, 4),
            1_000 * _below(random, 21),
            _pick(random, [0, 0, 20, 50, 80]),
        )
    return card(f"GPU-{index}", index=index), used


def _wanted(random: Random, card_count: int) -> PodRequest:
    declared = [
        _pick(random, [init, sidecar])(
            _memory(random), count=_count(random, card_count), cores=_cores(random)
        )
        for _ in range(_below(random, 3))
    ]
    apps: list[Asked] = [
        app(_memory(random), count=_count(random, card_count), cores=_cores(random))
        for _ in range(1 + _below(random, 2))
    ]
    return request(*declared, *apps, cards=_pick(random, _POLICIES))


def _memory(random: Random) -> int:
    return 1_000 * (1 + _below(random, 16))


def _cores(random: Random) -> int:
    return _pick(random, [0, 0, 10, 30, 60, 100])


def _count(random: Random, card_count: int) -> int:
    return min(_pick(random, [1, 1, 1, 2]), card_count)


def _pick(random: Random, choices: Sequence[_T]) -> _T:
    return choices[_below(random, len(choices))]


def _below(random: Random, limit: int) -> int:
    # Of all methods, random() alone gives the same numbers in every Python.
    return int(random.random() * limit)


def _table(gaps: dict[str, Gap]) -> Table:
    table = Table(
        "policy",
        "cases",
        "possible",
        "missed card by card",
        "missed",
        "more cards for inits card by card",
        "more cards for inits",
    )
    for column in table.columns[1:]:
        column.justify = "right"
    for policy, gap in gaps.items():
        counts = (
            gap.cases,
            gap.possible,
            gap.greedily_missed,
            gap.missed,
            gap.greedily_wasteful,
            gap.wasteful,
        )
        table.add_row(policy, *(f"{count:,}" for count in counts))
    return table


if __name__ == "__main__":
    Console().print(_table(measure()))
