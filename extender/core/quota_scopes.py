"""Which pods a ResourceQuota counts: its scopes, and what they look at in a pod.

Source: the pod evaluator of kube-apiserver (pkg/quota/v1/evaluator/core/pods.go), whose
answers these must be: the same object limits both what it counts and what is counted
here.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


@dataclass(frozen=True, slots=True)
class QuotaTraits:
    """What scopes look at in a pod.

    Attributes:
        has_deadline: ``spec.activeDeadlineSeconds`` is there, 0 or more.
        is_best_effort: Its QoS class: no container names CPU or memory.
        priority_class: ``spec.priorityClassName``; empty for none.
    """

    has_deadline: bool = False
    is_best_effort: bool = False
    priority_class: str = ""


PLAIN_QUOTA_TRAITS: Final = QuotaTraits()


class QuotaScope(StrEnum):
    """What a quota may be narrowed to, by its name in the object."""

    TERMINATING = "Terminating"
    NOT_TERMINATING = "NotTerminating"
    BEST_EFFORT = "BestEffort"
    NOT_BEST_EFFORT = "NotBestEffort"
    PRIORITY_CLASS = "PriorityClass"


class ScopeOperator(StrEnum):
    """How a scope's values are compared; all scopes but one know only EXISTS."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"


@dataclass(frozen=True, slots=True)
class ScopeRequirement:
    """One scope that a pod must be in to be counted.

    Attributes:
        scope: Which.
        operator: Of priority classes; the others have EXISTS.
        values: Priority classes.
    """

    scope: QuotaScope
    operator: ScopeOperator = ScopeOperator.EXISTS
    values: frozenset[str] = frozenset()

    def matches(self, traits: QuotaTraits) -> bool:
        """Tell whether a pod is in it.

        A pod without a priority class is in no list of classes, and so in the rest of
        every such list, as a label selector has it.

        Example:
            >>> high = frozenset({"high"})
            >>> wanted = ScopeRequirement(
            ...     QuotaScope.PRIORITY_CLASS, ScopeOperator.NOT_IN, high
            ... )
            >>> wanted.matches(PLAIN_QUOTA_TRAITS)
            True
        """
        match self.scope:
            case QuotaScope.TERMINATING:
                return traits.has_deadline
            case QuotaScope.NOT_TERMINATING:
                return not traits.has_deadline
            case QuotaScope.BEST_EFFORT:
                return traits.is_best_effort
            case QuotaScope.NOT_BEST_EFFORT:
                return not traits.is_best_effort
            case QuotaScope.PRIORITY_CLASS:
                return self._matches_class(traits.priority_class)

    def _matches_class(self, name: str) -> bool:
        match self.operator:
            case ScopeOperator.IN:
                return bool(name) and name in self.values
            case ScopeOperator.NOT_IN:
                return not name or name not in self.values
            case ScopeOperator.EXISTS:
                return bool(name)
            case ScopeOperator.DOES_NOT_EXIST:
                return not name
