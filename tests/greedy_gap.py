"""How often the greedy placement misses a fit, or takes more cards than it must.

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
from extender.core.model import PodRequest, Usage
from extender.verbs.bind import choose_devices
from tests.oracles import Loaded, exhaustive_fits
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
        missed: Possible, but the greedy choice does not fit.
        wasteful: The greedy choice fits on more different cards than needed.
        unsound: The greedy choice fits where none is possible; must be 0.
    """

    cases: int = 0
    possible: int = 0
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
    taken = {share.device_uuid for row in rows or () for share in row}
    return {
        "cases": 1,
        "possible": best.fits,
        "missed": best.fits and rows is None,
        "wasteful": rows is not None and len(taken) > (best.fewest_devices or 0),
        "unsound": rows is not None and not best.fits,
    }


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
    table = Table("policy", "cases", "possible", "missed", "more cards than needed")
    for column in table.columns[1:]:
        column.justify = "right"
    for policy, gap in gaps.items():
        placed = gap.possible - gap.missed
        table.add_row(
            policy,
            f"{gap.cases:,}",
            f"{gap.possible:,}",
            f"{gap.missed:,} ({gap.missed / gap.possible:.1%})",
            f"{gap.wasteful:,} ({gap.wasteful / placed:.1%})",
        )
    return table


if __name__ == "__main__":
    Console().print(_table(measure()))
