"""The whole examination: of nodes, pods and quotas, in short steps."""

from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from extender.core.names import NodeName, PodUID
from extender.state.audit import Difference
from extender.verbs.diagnosis import Diagnosis, Severity
from extender.verbs.doctor.allocations import (
    Place,
    check_allocation,
    check_settings,
    check_waiting,
)
from extender.verbs.doctor.catalogue import AUDIT_DIFFERENCE
from extender.verbs.doctor.locks import check_lock
from extender.verbs.doctor.nodes import check_node
from extender.verbs.doctor.quotas import check_quota
from extender.verbs.doctor.signs import Signs

_NODES_A_STEP: Final = 8
_PODS_A_STEP: Final = 1_000
"""Each some milliseconds."""

_BY_SEVERITY: Final = {severity: place for place, severity in enumerate(Severity)}


@dataclass(frozen=True, slots=True)
class Consulted:
    """Something that was, or should have been, looked at.

    Attributes:
        what: Such as ``nodes, pods and quotas``.
        problem: Why it could not be; empty where it was.
    """

    what: str
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Examination:
    """What the doctor found.

    Attributes:
        diagnoses: The worst first.
        consulted: What was looked at, and what could not be.
        nodes: How many were looked at.
        pods: The same, of those that ask for devices or hold any.
    """

    diagnoses: tuple[Diagnosis, ...]
    consulted: tuple[Consulted, ...]
    nodes: int
    pods: int

    @property
    def is_whole(self) -> bool:
        """Whether everything could be looked at."""
        return not any(each.problem for each in self.consulted)

    def of(self, severity: Severity) -> list[Diagnosis]:
        """Take those of one severity."""
        return [each for each in self.diagnoses if each.severity is severity]


@dataclass(frozen=True, slots=True)
class Fixed:
    """What was done about each thing that was to be fixed, in order."""

    done: tuple[str, ...]


def in_order(diagnoses: Iterable[Diagnosis]) -> tuple[Diagnosis, ...]:
    """Sort diagnoses: by severity, then by code, then by what they are about."""
    return tuple(
        sorted(
            diagnoses,
            key=lambda each: (_BY_SEVERITY[each.severity], each.code, each.about),
        )
    )


def examine_steps(signs: Signs) -> Generator[None, None, list[Diagnosis]]:
    """Examine the state, in steps of some milliseconds; events may come between.

    Cost: O(cards + phases x shares) of all.
    """
    found: list[Diagnosis] = []
    ledger = signs.ledger
    for names in _slices(ledger.places(), _NODES_A_STEP):
        for name in names:
            found += _of_node(signs, NodeName(name))
        yield
    for uids in _slices([*ledger.pods], _PODS_A_STEP):
        for uid in uids:
            found += _of_pod(signs, PodUID(uid))
        yield
    for quota in [*ledger.quotas]:
        found += check_quota(ledger, quota)
    return found


def of_audit(differences: Iterable[Difference]) -> Iterator[Diagnosis]:
    """Tell what an audit found."""
    for each in differences:
        yield AUDIT_DIFFERENCE.found(
            each.subject,
            "recorded totals are not what the pods add up to",
            f"recorded: {each.recorded}",
            f"the pods say: {each.recomputed}",
        )


def _of_node(signs: Signs, name: NodeName) -> Iterator[Diagnosis]:
    ledger = signs.ledger
    lock = signs.lock_of.get(name)
    if lock is not None:
        yield from check_lock(signs, lock)
    yield from check_node(signs, name)
    pods = ledger.pods_on(name)
    if not pods:
        return
    place = Place.of(signs, name)
    for pod in pods:
        standing = ledger.standing(pod.uid)
        if standing is not None:
            yield from check_allocation(signs, pod, standing, place)


def _of_pod(signs: Signs, uid: PodUID) -> Iterator[Diagnosis]:
    pod = signs.ledger.pods.get(uid)
    if pod is None:
        return
    yield from check_settings(pod)
    if pod.node_name is None and signs.ledger.reservation(uid) is None:
        yield from check_waiting(pod)


def _slices(items: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
