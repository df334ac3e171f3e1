"""Which of what the cluster shows is a decision of another scheduler, made anew."""

from dataclasses import dataclass, replace

from extender.core.allocation import Allocation, UnreadableAllocation
from extender.core.names import NodeName, PodUID
from extender.core.pod import Pod


@dataclass(frozen=True, slots=True)
class Choice:
    """A node and cards that another scheduler gave to a pod.

    Attributes:
        node_name: The node.
        allocation: What it wrote of the cards; None where it wrote nothing.
        at: When, as it spells it; empty once the pod is bound.
        is_bound: Whether the pod is bound there.
    """

    node_name: NodeName
    allocation: Allocation | UnreadableAllocation | None
    at: str = ""
    is_bound: bool = False


def choice_of(pod: Pod) -> Choice | None:
    """Tell what was chosen for a pod; None where nothing was, or it matters no more.

    HAMi chooses in filter, and writes node and cards to the unbound pod; the Binding
    follows. Who writes both at once chooses by the Binding.
    """
    if pod.status.is_finished or pod.status.is_terminating:
        return None
    is_unreadable = isinstance(pod.allocation, UnreadableAllocation)
    if not (pod.asks_for_devices or pod.request_problem or is_unreadable):
        return None  # HAMi writes empty rows of kinds that nobody asked for
    if pod.node_name is not None:
        return Choice(pod.node_name, pod.allocation, is_bound=True)
    if pod.placing.node_name is None or pod.allocation is None:
        return None
    return Choice(pod.placing.node_name, pod.allocation, pod.placing.at)


class Cases:
    """The last choice of each pod that is known.

    A Binding to the node that was chosen before is no new choice, and neither is any
    later view of a bound pod.
    """

    def __init__(self) -> None:
        self._last: dict[PodUID, Choice] = {}

    def new_choice(self, pod: Pod, known: Pod | None) -> Choice | None:
        """Give what was chosen since the last time, and remember it.

        Args:
            pod: As it is shown.
            known: As it was shown before; a view that would unbind it is late.
        """
        if known is not None and known.node_name and not pod.node_name:
            return None
        choice = choice_of(pod)
        if choice is None:
            return None
        last = self._last.get(pod.uid)
        self._last[pod.uid] = choice
        if last is None:
            return choice
        if last.is_bound or choice == last:
            return None
        carried_out = replace(last, at="", is_bound=True)
        return None if choice == carried_out else choice

    def forget(self, pod_uid: PodUID) -> None:
        """Drop a pod that is gone."""
        self._last.pop(pod_uid, None)


def gives_up(pod: Pod, known: Pod | None) -> bool:
    """Tell whether a scheduler takes back what it had chosen for an unbound pod.

    It finds no node any more, and says so; what it wrote of the place stays there.
    """
    return (
        known is not None
        and pod.node_name is None
        and pod.placing.refusal is not None
        and pod.placing.refusal != known.placing.refusal
        and (pod.placing.node_name, pod.placing.at)
        == (known.placing.node_name, known.placing.at)
    )
