"""The decision log: one line for each answer of a verb, and what it says.

Nothing is formatted here until the line is written, which is in another thread
(`extender.observe.logs`).
"""

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Self

from extender.core.usage import Charge
from extender.observe.printable import printable
from extender.observe.words import Verb

DECISIONS: Final = logging.getLogger("extender.decisions")
"""Has a level of its own: what it tells is chosen apart from all other lines."""

NOTHING: Final = logging.CRITICAL + 1
"""Level at which no decision is told."""

# Whoever does not ask for decisions, such as `gpu-extender schedule`, gets none.
DECISIONS.setLevel(NOTHING)

_MILLISECONDS: Final = 1e3
_LONGEST_NAME: Final = 300
"""Characters; of Kubernetes' own names none is longer than 253."""

_PLAIN: Final = frozenset("-._/:+%")


@dataclass(frozen=True, slots=True)
class PodName:
    """Which pod; all three may be any text, or empty where they are not known."""

    namespace: str
    name: str
    uid: str

    @classmethod
    def of(cls, namespace: str, name: str, uid: str) -> Self:
        """Name a pod by what a caller sent, which may be of any length."""
        return cls(cut(namespace), cut(name), cut(uid))


@dataclass(frozen=True, slots=True)
class FilteredNodes:
    """How filter answered.

    Attributes:
        fitting: Nodes that fit; in exact mode the chosen one.
        failed: Nodes that do not fit now.
        unresolvable: Nodes that would not fit if they were empty either.
        reasons: How many nodes were refused by each text, which may join several
            reason codes.
    """

    fitting: int
    failed: int
    unresolvable: int
    reasons: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Scores:
    """How prioritize answered.

    Attributes:
        counts: How many nodes have each score.
        best_node: The first one with the highest; empty without nodes.
    """

    counts: Mapping[int, int]
    best_node: str


@dataclass(frozen=True, slots=True)
class Placed:
    """How bind answered.

    Attributes:
        node_name: Where the pod was to go.
        devices: What it is charged for, by device; empty where it was refused, or asks
            for none.
    """

    node_name: str
    devices: Charge = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Decision:
    """One answer.

    Attributes:
        verb: What was asked.
        pod: About whom.
        outcome: One word of a closed set.
        is_refusal: Whether the answer is no, or that nothing can be said.
        generation: Of the state that it was decided on; grows with each change. None
            where the state does not matter.
        duration_seconds: From the question, once it was read, to the answer, before
            it is written.
        problem: What a person should know; empty where there is nothing.
        detail: What only this verb tells; None where nothing was judged.
    """

    verb: Verb
    pod: PodName
    outcome: str
    is_refusal: bool
    generation: int | None
    duration_seconds: float
    problem: str = ""
    detail: FilteredNodes | Scores | Placed | None = None

    def __str__(self) -> str:
        """Write it as ``key=value`` pairs, in one line without control characters."""
        return " ".join(f"{key}={_quoted(text)}" for key, text in _pairs(self))


def is_told(*, is_refusal: bool) -> bool:
    """Tell whether such a decision is written at all; cheap."""
    return DECISIONS.isEnabledFor(_level(is_refusal=is_refusal))


def tell(decision: Decision) -> None:
    """Hand a decision over to the log."""
    level = _level(is_refusal=decision.is_refusal)
    if DECISIONS.isEnabledFor(level):
        DECISIONS.log(level, decision)


def cut(text: str) -> str:
    """Shorten what a caller may make as long as it likes."""
    return text if len(text) <= _LONGEST_NAME else f"{text[:_LONGEST_NAME]}..."


def _level(*, is_refusal: bool) -> int:
    return logging.WARNING if is_refusal else logging.INFO


def json_fields(decision: Decision) -> dict[str, object]:
    """Give a decision as ``docs/decision-log.schema.json`` has it."""
    pod = decision.pod
    shown: dict[str, object] = {
        "verb": decision.verb.value,
        "outcome": decision.outcome,
        "pod": {"namespace": pod.namespace, "name": pod.name, "uid": pod.uid},
        "duration_ms": _milliseconds(decision),
        "problem": decision.problem,
    }
    if decision.generation is not None:
        shown["generation"] = decision.generation
    match decision.detail:
        case FilteredNodes() as nodes:
            shown["nodes"] = {
                "fitting": nodes.fitting,
                "failed": nodes.failed,
                "unresolvable": nodes.unresolvable,
            }
            shown["reasons"] = dict(nodes.reasons)
        case Scores() as scores:
            shown["scores"] = {str(key): n for key, n in scores.counts.items()}
            shown["best_node"] = scores.best_node
        case Placed() as placed:
            shown["node"] = placed.node_name
            shown["devices"] = [
                {
                    "uuid": uuid,
                    "slots": usage.slots,
                    "memory_mib": usage.memory_mib,
                    "core_percent": usage.core_percent,
                }
                for uuid, usage in placed.devices.items()
            ]
        case None:
            pass
    return shown


def _pairs(decision: Decision) -> Iterator[tuple[str, str]]:
    pod = decision.pod
    yield "verb", decision.verb.value
    yield "outcome", decision.outcome
    yield "pod", f"{pod.namespace}/{pod.name}"
    yield "uid", pod.uid
    match decision.detail:
        case FilteredNodes() as nodes:
            yield "fitting", str(nodes.fitting)
            yield "failed", str(nodes.failed)
            yield "unresolvable", str(nodes.unresolvable)
            if nodes.reasons:
                told = (f"{count} {text}" for text, count in nodes.reasons.items())
                yield "reasons", "; ".join(told)
        case Scores() as scores:
            told = (f"{score}:{count}" for score, count in scores.counts.items())
            yield "scores", ",".join(told)
            yield "best_node", scores.best_node
        case Placed() as placed:
            yield "node", placed.node_name
            if placed.devices:
                told = (f"{uuid}: {usage}" for uuid, usage in placed.devices.items())
                yield "devices", "; ".join(told)
        case None:
            pass
    if decision.problem:
        yield "problem", decision.problem
    if decision.generation is not None:
        yield "generation", str(decision.generation)
    yield "duration_ms", str(_milliseconds(decision))


def _milliseconds(decision: Decision) -> float:
    return round(decision.duration_seconds * _MILLISECONDS, 3)


def _quoted(text: str) -> str:
    r"""Quote what could be taken for the end of a value.

    Example:
        >>> _quoted("n1"), _quoted('a "b"\n')
        ('n1', '"a \\"b\\"\\n"')
    """
    if text and all(each.isalnum() or each in _PLAIN for each in text):
        return text
    escaped = printable(text.replace("\\", "\\\\").replace('"', '\\"'))
    return f'"{escaped}"'
