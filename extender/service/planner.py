"""what-if: what would become of replicas of a pod; nothing changes."""

import asyncio
from collections.abc import Callable, Collection, Generator, Mapping
from dataclasses import replace
from typing import Final

from extender.core.holding import Holding
from extender.core.names import PodUID
from extender.core.node import Node
from extender.core.pod import Pod
from extender.errors import NotFound
from extender.service.in_turns import in_turns
from extender.service.nominated import NominatedRoom
from extender.state.ledger_view import LedgerView
from extender.state.supposed import SupposedState
from extender.verbs.explain import as_new
from extender.verbs.node_types import node_of_type, numbered, type_steps
from extender.verbs.supposition import (
    Ended,
    NodeFill,
    NodesNeeded,
    Supposition,
    WhatIf,
)
from extender.verbs.verdicts import NodeVerdict
from extender.verbs.what_if import (
    fill_steps,
    limit_steps,
    needed_steps,
    quota_shortages,
)

_NODES_A_STEP: Final = 16

MOST_SECONDS: Final = 20.0
"""For one question, all its turns together."""


class Planner:
    """Places pods on copies of the state, one question at a time."""

    def __init__(
        self,
        ledger: LedgerView,
        nominated: NominatedRoom,
        with_problem: Callable[[NodeVerdict], NodeVerdict],
        monotonic: Callable[[], float],
        most_seconds: float = MOST_SECONDS,
    ) -> None:
        """Plan on a state.

        Args:
            ledger: Is copied.
            nominated: Room that is held for others.
            with_problem: Adds to a verdict why no card of its node counts.
            monotonic: The clock that ends a question which takes too long.
            most_seconds: Its end.
        """
        self._ledger = ledger
        self._nominated = nominated
        self._with_problem = with_problem
        self._monotonic = monotonic
        self._most_seconds = most_seconds
        self._turn = asyncio.Lock()

    async def what_if(self, pod: Pod, supposed: Supposition) -> WhatIf:
        """Tell how many of a pod would fit, and what it would take for the others.

        Args:
            pod: As its manifest has it; each replica is one like it, created now.
            supposed: What else is different from what the cluster shows.

        Raises:
            NotFound: A pod that shall not be there is not known, or a type of node
                tells of no node and no card.

        Cost: a copy of the state, and filter, scores and bind's choice for each
        replica; between any two, requests are answered.
        """
        async with self._turn:
            until = self._monotonic() + self._most_seconds
            steps = self._steps(
                as_new(pod), supposed, lambda: self._monotonic() > until
            )
            return await in_turns(steps)

    def _steps(
        self, pod: Pod, supposed: Supposition, is_late: Callable[[], bool]
    ) -> Generator[None, None, WhatIf]:
        ledger = self._ledger
        without = self._pods(supposed)
        further = {
            each.type: node_of_type(ledger, each.type) for each in supposed.add_nodes
        }
        added = yield from _added_steps(supposed, further)
        told = WhatIf(
            pod.namespace,
            pod.name,
            supposed.replicas,
            0,
            Ended.REQUEST,
            warnings=pod.warnings,
            added=tuple(each for each in supposed.add_nodes if each.count),
            without=supposed.without,
            node_count=len(ledger.nodes) + len(added),
            generation=ledger.generation,
        )
        problem = pod.request_problem
        if problem is None and not pod.asks_for_devices:
            problem = "it asks for no device: by devices, any number fits"
        if problem is not None:
            return replace(told, problem=problem)
        state = yield from SupposedState.copied(ledger, pod.namespace, added, without)
        held = self._held(pod, state, without)
        filling = yield from fill_steps(state, pod, supposed.replicas, held, is_late)
        names = {node.name for node in added}
        told = replace(
            told,
            fits=filling.fits,
            ended=filling.ended,
            nodes=tuple(
                NodeFill(name, count, name in names)
                for name, count in sorted(
                    filling.by_node.items(), key=lambda each: (-each[1], each[0])
                )
            ),
        )
        if filling.ended not in (Ended.LIMIT, Ended.QUOTA):
            return told
        yield
        short = quota_shortages(state, pod)
        told = replace(told, quota=short)
        if not short:
            limits = yield from limit_steps(
                state, pod, filling.refusal, held, self._with_problem
            )
            told = replace(told, limits=limits)
        left = (supposed.replicas or 0) - filling.fits
        if left <= 0:
            return told
        if not further:
            further = yield from type_steps(ledger)
        needed = yield from _needed(state, pod, left, further, is_late)
        return replace(told, needed=needed)

    def _pods(self, supposed: Supposition) -> set[PodUID]:
        """Find the pods that are supposed not to be there.

        Raises:
            NotFound: One is not known.
        """
        wanted = set(supposed.without)
        if not wanted:
            return set()
        found = {
            pod.full_name: uid
            for uid, pod in self._ledger.pods.items()
            if pod.full_name in wanted
        }
        for name in supposed.without:
            if name not in found:
                raise NotFound(
                    f"pod {name} is not known: there is none of this name, or it asks "
                    "for no device"
                )
        return set(found.values())

    def _held(
        self, pod: Pod, state: SupposedState, without: Collection[PodUID]
    ) -> list[Holding]:
        nominated = self._nominated.nominations_against(pod, state.fleet)
        return [each.holding for each in nominated if each.pod.uid not in without]


def _added_steps(
    supposed: Supposition, of_type: Mapping[str, Node]
) -> Generator[None, None, list[Node]]:
    found: list[Node] = []
    for each in supposed.add_nodes:
        for number in range(1, each.count + 1):
            found.append(numbered(of_type[each.type], each.type, number))
            if number % _NODES_A_STEP == 0:
                yield
    return found


def _needed(
    state: SupposedState,
    pod: Pod,
    left: int,
    further: dict[str, Node],
    is_late: Callable[[], bool],
) -> Generator[None, None, tuple[NodesNeeded, ...]]:
    """Tell of each type how many nodes the pods that are left need."""
    found: tuple[NodesNeeded, ...] = ()
    for of_type in further.items():
        needed = yield from needed_steps(state, pod, left, of_type, is_late)
        found = (*found, needed)
    return found
