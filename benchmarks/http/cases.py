"""The cases of ``workloads/http.yaml``."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from benchmarks.http.judging import WARM_UPS
from benchmarks.layout import LAYOUTS, UNIFORM, ClusterPlan
from benchmarks.results import Limit
from benchmarks.shapes import MOST_QUESTIONS, SHAPE_BY_NAME, Shape
from benchmarks.workloads import Section, budgets_of, limits_of

VERBS: Final = ("filter", "prioritize", "bind")
ASKED: Final = ("never", "seen", "filtered")
MOST_NODES: Final = 20_000

SENT: Final = ("names", "nodes")

_KEYS: Final = (
    *("verb", "sent", "nodes", "pods_per_node", "cards", "pod", "asked", "requests"),
)
_OUTCOMES: Final = ("quick", "limits", "budgets")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One row to be.

    Attributes:
        verb: One of `VERBS`.
        plan: The cluster.
        shape: The pods that are asked about.
        asked: ``never``: each pod asks for something that no pod of the whole run
            asked for before. ``seen``: all of them ask for the same, as pods of one
            Deployment do, and one node changes between two of them. ``filtered``: as
            never, but filter was asked of the pod just before, as kube-scheduler does,
            and one node has changed since.
        requests: Timed ones, to each server.
        first_number: Of its questions; each case on a cluster has numbers of its own.
        limits: On ratios.
        budgets: Of figures and ratios.
        sent: ``names`` of the candidates, or for filter ``nodes``: whole objects, as
            kube-scheduler without a node cache sends them.
    """

    verb: str
    plan: ClusterPlan
    shape: Shape
    asked: str
    requests: int
    first_number: int
    limits: Mapping[str, Limit]
    budgets: Mapping[str, Limit]
    sent: str = SENT[0]

    def told(self) -> dict[str, str | int]:
        """Tell the case as rows have it."""
        sent = {} if self.sent == SENT[0] else {"sent": self.sent}
        return {
            "verb": self.verb,
            **sent,
            "nodes": self.plan.nodes,
            "pods_per_node": self.plan.pods_per_node,
            "cards": self.plan.layout,
            "pod": self.shape.name,
            "asked": self.asked,
        }

    @property
    def numbers(self) -> range:
        """Number all questions, those before the timed ones included."""
        return range(self.first_number, self.first_number + WARM_UPS + self.requests)


@dataclass(frozen=True, slots=True)
class Growth:
    """One question on two clusters that differ in one thing.

    Attributes:
        larger: On the cluster with more of it.
        smaller: On the other.
        grows: ``nodes`` or ``pods_per_node``.
    """

    larger: Case
    smaller: Case
    grows: str

    def told(self) -> dict[str, str | int]:
        """Tell the case as rows have it."""
        told = self.larger.told()
        told[self.grows] = f"{self.smaller.told()[self.grows]} to {told[self.grows]}"
        return {"growth": f"in {self.grows}", **told}


def cases_in(workload: Section, *, full: bool) -> list[Case]:
    """Read the cases, of which a quick run takes those that are ``quick``.

    Raises:
        WorkloadUnusable: One of them says something that cannot be measured.
    """
    workload.only("limits", "cases", "growth")
    shared = limits_of(workload)
    cases: list[Case] = []
    free: Counter[ClusterPlan] = Counter()
    for section in workload.sections("cases"):
        if _is_taken(section, full=full):
            case = _case(section, shared)
            case = replace(case, first_number=free[case.plan])
            free[case.plan] = case.numbers.stop
            if case.numbers.stop > MOST_QUESTIONS:
                most = f"fewer: {MOST_QUESTIONS} questions are all for one cluster"
                raise section.unusable("requests", most)
            cases.append(case)
    return cases


def growths_in(workload: Section, *, full: bool) -> list[Growth]:
    """Read the pairs of clusters; ``nodes`` or ``pods_per_node`` has two numbers.

    Raises:
        WorkloadUnusable: As for `cases_in`.
    """
    return [
        _growth(section)
        for section in workload.sections("growth")
        if _is_taken(section, full=full)
    ]


def _is_taken(section: Section, *, full: bool) -> bool:
    section.only(*_KEYS, *_OUTCOMES)
    return section.flag("quick", default=False) or full


def _case(section: Section, shared: Mapping[str, Limit]) -> Case:
    verb = section.text("verb", choices=VERBS)
    sent = section.text("sent", default=SENT[0], choices=SENT)
    if sent != SENT[0] and verb != VERBS[0]:
        raise section.unusable("sent", f"{SENT[0]}, but for {VERBS[0]}")
    return Case(
        verb=verb,
        plan=_plan(
            section,
            section.whole("nodes", least=1),
            section.whole("pods_per_node"),
        ),
        shape=SHAPE_BY_NAME[section.text("pod", choices=list(SHAPE_BY_NAME))],
        asked=section.text("asked", choices=ASKED),
        requests=section.whole("requests", least=1),
        first_number=0,
        limits={**shared, **limits_of(section)},
        budgets=budgets_of(section),
        sent=sent,
    )


def _growth(section: Section) -> Growth:
    pairs = [key for key in ("nodes", "pods_per_node") if _is_pair(section, key)]
    if len(pairs) != 1:
        raise section.unusable(
            "nodes", "a pair of numbers, or pods_per_node instead of it"
        )
    grows = pairs[0]
    less, more = section.wholes(grows)
    smaller, larger = (
        _case(section.with_value(grows, count), {}) for count in (less, more)
    )
    return Growth(larger, replace(smaller, limits={}, budgets={}), grows)


def _is_pair(section: Section, key: str) -> bool:
    value = section.get(key)
    return isinstance(value, list) and len(value) == 2


def _plan(section: Section, nodes: int, pods_per_node: int) -> ClusterPlan:
    if nodes > MOST_NODES:
        raise section.unusable("nodes", f"at most {MOST_NODES}")
    layout = section.text("cards", default=UNIFORM, choices=list(LAYOUTS))
    return ClusterPlan(nodes, pods_per_node, layout)
