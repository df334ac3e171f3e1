"""What is asked by what-if, and what is told: how many pods would fit, and why no more.

Views: plain values, which become JSON by their fields' names.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from extender.core.names import KindWord, NodeName
from extender.core.reasons import Reason
from extender.verbs.explanation import QuotaShort
from extender.verbs.findings import Finding

MOST_REPLICAS: Final = 10_000
"""That are placed for one question."""

MOST_ADDED: Final = 1_000
"""Nodes that one question may suppose, of all types together."""


@dataclass(frozen=True, slots=True)
class AddedNodes:
    """Nodes that are not there.

    Attributes:
        type: A node's name, to be copied without its pods; or a card model and how many
            of it, such as ``NVIDIA A10x4``.
        count: How many; 0 to be told only how many would be needed.
    """

    type: str
    count: int = 0


@dataclass(frozen=True, slots=True)
class Supposition:
    """What is supposed.

    Attributes:
        replicas: How many are wanted; None for as many as fit.
        add_nodes: Nodes besides.
        without: Pods that are not there, as ``namespace/name``.
    """

    replicas: int | None = None
    add_nodes: tuple[AddedNodes, ...] = ()
    without: tuple[str, ...] = ()


class Ended(StrEnum):
    """Why no more were placed."""

    ALL_FIT = "all fit"
    LIMIT = "no node takes a further one"
    QUOTA = "its namespace has no room for a further one"
    REQUEST = "the request cannot be honoured"
    MOST_REPLICAS = "so many were placed, and no more are tried"
    TIME = "the time for one question was over"


@dataclass(frozen=True, slots=True)
class NodeFill:
    """How many would go to one node."""

    node: NodeName
    pods: int
    is_added: bool = False


@dataclass(frozen=True, slots=True)
class LimitGroup:
    """Nodes that refuse a further one for the same reasons.

    Attributes:
        reasons: Filter's codes.
        is_unresolvable: Whether they would refuse it also if no pod held anything.
        nodes: How many.
        example: The first by name.
        findings: Its reasons with numbers.
    """

    reasons: tuple[Reason, ...]
    is_unresolvable: bool
    nodes: int
    example: NodeName
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class NodesNeeded:
    """How many nodes of a type would take the pods that are left.

    Attributes:
        type: As `AddedNodes.type`.
        per_node: How many fit on an empty one.
        nodes: How many are needed; None where no number of them would do.
        why_not: Why that is so; empty where it is not.
    """

    type: str
    per_node: int
    nodes: int | None
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class WhatIf:
    """What would become of replicas of a pod.

    Attributes:
        namespace: Of the pod.
        name: The same.
        wanted: How many; None for as many as fit.
        fits: How many would be placed.
        ended: Why no more.
        problem: What is wrong with the request; None where it can be honoured.
        warnings: Settings of the pod that were read as the default.
        nodes: Where they would go; those that take most come first.
        limits: Why a further one is refused: what holds now comes first, then the
            larger groups.
        quota: Limits of its namespace that a further one would go beyond.
        needed: For those that are left, by type of node.
        added: What was supposed besides.
        without: The same.
        node_count: Nodes that were asked, with those that are not there.
        generation: Of the state.
    """

    namespace: str
    name: str
    wanted: int | None
    fits: int
    ended: Ended
    problem: str | None = None
    warnings: tuple[str, ...] = ()
    nodes: tuple[NodeFill, ...] = ()
    limits: tuple[LimitGroup, ...] = ()
    quota: tuple[QuotaShort, ...] = ()
    needed: tuple[NodesNeeded, ...] = ()
    added: tuple[AddedNodes, ...] = ()
    without: tuple[str, ...] = ()
    node_count: int = 0
    generation: int = 0

    @property
    def full_name(self) -> str:
        """``namespace/name``."""
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class CardShape:
    """What makes two cards the same for a pod, wherever they are."""

    kind: KindWord
    model: str
    slots: int
    memory_mib: int
    core_percent: int
    mode: str
