"""admit: what a pod is given at its creation, or why it is refused.

Two steps, since the rules of a request have one home, and that reads pods: `propose`
says how the pod is changed, and `conclude` looks at the changed pod as filter will.

Source: HAMi v2.10, pkg/scheduler/webhook.go and MutateAdmission of each vendor; where
we differ, docs/admission.md says so.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from extender.core.kinds import Kind
from extender.core.pod import Pod
from extender.errors import cut
from extender.verbs.admission import (
    Admitted,
    Mutation,
    Outcome,
    PodToAdmit,
    SetAnnotation,
    SetRuntimeClass,
    SetScheduler,
)
from extender.verbs.admit_container import Settled, hidden_devices, settle

DEFAULT_SCHEDULER: Final = "default-scheduler"
"""What the API server writes into pods that name no scheduler."""

_NO_CONTAINERS: Final = "pod has no containers"

_MOST_TOLD: Final = 10
"""Sentences that are told of a pod."""

_Asking = Sequence[tuple[Kind, Sequence[Settled]]]
"""Kinds of which a pod names anything, each with all containers in order."""


@dataclass(frozen=True, slots=True)
class Schedulers:
    """Whose pods are ours.

    Attributes:
        names: Of the schedulers that ask this extender; at least one. The first is
            written into pods that ask for devices.
        takes_default: Whether pods of Kubernetes' own scheduler are taken over.
    """

    names: tuple[str, ...]
    takes_default: bool = True

    def owns(self, name: str) -> bool:
        """Whether pods that name this scheduler come to us as they are."""
        return name in self.names

    def takes(self, name: str) -> bool:
        """Whether pods that name this scheduler, or none, may be given ours."""
        return not name or (name == DEFAULT_SCHEDULER and self.takes_default)


@dataclass(frozen=True, slots=True)
class Proposal:
    """How a pod would be changed, before the changed pod was looked at.

    Attributes:
        asks: Whether it asks for devices that can be given, or tries to.
        is_ours: Whether it is to be placed by a scheduler of ours.
        mutations: How it is changed.
        problems: Why its request cannot be honoured.
        forbidden: Why it may not run like this.
        warnings: What is probably not meant.
        text: Why it is none of our business; empty where it is.
    """

    asks: bool = False
    is_ours: bool = True
    mutations: tuple[Mutation, ...] = ()
    problems: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    text: str = ""


def propose(pod: PodToAdmit, kinds: Sequence[Kind], schedulers: Schedulers) -> Proposal:
    """Say how a pod is changed. A second time, with the changed pod, there is nothing.

    Args:
        pod: As it came.
        kinds: Of device.
        schedulers: Whose pods are ours.
    """
    if not pod.containers and not pod.too_many_containers:
        return Proposal(problems=(_NO_CONTAINERS,))
    if pod.opts_out or pod.is_mirror:
        why = "the pod asks not to be looked at" if pod.opts_out else "a mirror pod"
        return Proposal(is_ours=False, text=why)
    if pod.too_many_containers:
        return _too_many(pod, schedulers)
    settled = _settled(pod, kinds)
    asking = [
        (kind, of_kind)
        for kind, of_kind in settled
        if any(each.asks for each in of_kind)
    ]
    is_ours = schedulers.owns(pod.scheduler_name)
    if not is_ours and not schedulers.takes(pod.scheduler_name):
        return _of_others(pod, schedulers, asks=bool(asking))
    hidden = tuple(_hidden(pod, kinds, asking))
    if not asking:
        return Proposal(is_ours=is_ours, mutations=hidden)
    scheduler = () if is_ours else (SetScheduler(schedulers.names[0]),)
    mutations = (
        *_of_containers(asking),
        *_annotations(pod, asking),
        *hidden,
        *scheduler,
        *_runtime_class(pod, asking),
    )
    return Proposal(
        asks=True,
        mutations=mutations,
        problems=tuple(_problems(pod, asking)),
        forbidden=tuple(_forbidden(pod)),
        warnings=(*pod.warnings, *_warnings(pod, kinds, asking)),
    )


def _too_many(pod: PodToAdmit, schedulers: Schedulers) -> Proposal:
    """Refuse a pod unread if it asks for devices and is ours; else let it pass."""
    is_ours = schedulers.owns(pod.scheduler_name)
    if not is_ours and not schedulers.takes(pod.scheduler_name):
        return _of_others(pod, schedulers, asks=pod.too_many_ask)
    if not pod.too_many_ask:
        return Proposal(is_ours=False, text="it asks for no devices, and is too long")
    return Proposal(asks=True, problems=(pod.too_many_containers,))


def conclude(proposal: Proposal, changed: Pod | None) -> Admitted:
    """Answer, now that the changed pod was read as filter will read it.

    Args:
        proposal: What was proposed.
        changed: The pod as it would be; None where there are no containers to read.
    """
    warnings = proposal.warnings
    if changed is not None and proposal.asks:
        warnings = (*warnings, *changed.warnings)
    read = None if changed is None else changed.request_problem
    if not proposal.is_ours:
        if proposal.asks and read is not None:
            warnings = (*warnings, read)
        return _allowed(proposal, warnings)
    problems = proposal.problems
    # What was found before says more of the same container than what is left of it.
    if read is not None and not problems:
        problems = (read,)
    refusals = (*proposal.forbidden, *problems)
    if refusals:
        outcome = Outcome.REFUSED if problems else Outcome.FORBIDDEN
        return Admitted(outcome, _told(refusals), warnings=_first(warnings))
    return _allowed(proposal, warnings)


def _allowed(proposal: Proposal, warnings: Iterable[str]) -> Admitted:
    if proposal.mutations:
        outcome = Outcome.CHANGED
    else:
        outcome = Outcome.PASSED_OVER if proposal.text else Outcome.UNCHANGED
    return Admitted(outcome, proposal.text, proposal.mutations, _first(warnings))


def _told(refusals: Sequence[str]) -> str:
    """Tell of several; a pod may have a thousand containers with the same fault."""
    told = _first(refusals)
    rest = len(dict.fromkeys(refusals)) - len(told)
    return "; ".join(told) + (f"; and {rest} more" if rest else "")


def _first(sentences: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(sentences))[:_MOST_TOLD]


def _of_others(pod: PodToAdmit, schedulers: Schedulers, *, asks: bool) -> Proposal:
    """Leave a pod of another scheduler alone; tell where that cannot end well."""
    warning = (
        f"schedulerName {cut(pod.scheduler_name)!r} is not {schedulers.names[0]}: no "
        "card is chosen for the pod, and nothing here keeps room for it"
    )
    return Proposal(
        asks=asks,
        is_ours=False,
        warnings=(warning,) if asks else (),
        text="pod already has different scheduler assigned",
    )


def _settled(
    pod: PodToAdmit, kinds: Sequence[Kind]
) -> list[tuple[Kind, list[Settled]]]:
    """Settle every container, for the kinds of which the pod names anything."""
    return [
        (kind, [settle(one, kind) for one in pod.containers])
        for kind in kinds
        if any(kind.type_word in one.claims for one in pod.containers)
    ]


def _of_containers(asking: _Asking) -> Iterator[Mutation]:
    for _, of_kind in asking:
        for each in of_kind:
            yield from each.mutations


def _annotations(pod: PodToAdmit, asking: _Asking) -> Iterator[Mutation]:
    """Give the pod what a plugin reads of it besides its containers."""
    for kind, of_kind in asking:
        counted = kind.admission.count_annotation
        most = max(each.count for each in of_kind)
        if counted and most > 1 and pod.annotations.get(counted) != str(most):
            yield SetAnnotation(counted, str(most))


def _hidden(
    pod: PodToAdmit, kinds: Sequence[Kind], asking: _Asking
) -> Iterator[Mutation]:
    for index, one in enumerate(pod.containers):
        asked = [kind for kind, of_kind in asking if of_kind[index].asks]
        yield from hidden_devices(one, kinds, asked)


def _runtime_class(pod: PodToAdmit, asking: _Asking) -> Iterator[Mutation]:
    names = [kind.admission.runtime_class_name for kind, _ in asking]
    name = next(filter(None, names), "")
    if name and not pod.runtime_class_name:
        yield SetRuntimeClass(name)


def _problems(pod: PodToAdmit, asking: _Asking) -> Iterator[str]:
    for index, one in enumerate(pod.containers):
        yield from one.problems
        for _, of_kind in asking:
            yield from of_kind[index].problems


def _warnings(pod: PodToAdmit, kinds: Sequence[Kind], asking: _Asking) -> Iterator[str]:
    has_devices = {
        (kind.type_word, index)
        for kind, of_kind in asking
        for index, each in enumerate(of_kind)
        if each.asks
    }
    for index, one in enumerate(pod.containers):
        for _, of_kind in asking:
            yield from of_kind[index].warnings
        for kind in kinds:
            word = kind.type_word
            if word in one.priorities and (word, index) not in has_devices:
                yield (
                    f"container {one.name!r}: {kind.admission.priority_resource} has "
                    f"no effect without {kind.count_resource}"
                )


def _forbidden(pod: PodToAdmit) -> Iterator[str]:
    """Tell why a pod that asks for devices may not run like this."""
    privileged = [one.name for one in pod.containers if one.is_privileged]
    if privileged:
        yield (
            f"container {privileged[0]!r} is privileged: it would see every card of "
            "its node; run it without securityContext.privileged, or in a pod that "
            "asks for no cards"
        )
    if pod.node_name:
        yield (
            f"pod has node assigned: spec.nodeName {cut(pod.node_name)!r} leaves "
            "nobody to "
            "choose its cards; use nodeSelector or nodeAffinity instead"
        )
    copied = [
        f"{what} {', '.join(names)}"
        for what, names in (
            ("annotations", pod.annotations_of_bind),
            ("labels", pod.labels_of_bind),
        )
        if names
    ]
    if copied:
        yield (
            f"{' and '.join(copied)} are written at bind: remove them, they were "
            "copied from another pod"
        )
