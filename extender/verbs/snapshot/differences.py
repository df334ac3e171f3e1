"""Where a decision that was made again differs from the one that was saved."""

from collections.abc import Iterator
from dataclasses import dataclass

from extender.core.names import NodeName
from extender.verbs.decision import Decision

_NOT_ASKED = "not asked about"


@dataclass(frozen=True, slots=True)
class Differs:
    """One thing that came out otherwise.

    Attributes:
        about: A node, or ``chosen node`` or ``cards``.
        saved: What the snapshot has.
        replayed: What was decided now.
    """

    about: str
    saved: str
    replayed: str


def differences(saved: Decision, replayed: Decision) -> Iterator[Differs]:
    """List what differs: node by node in the order of names, then the choice."""
    names = {**_names(saved), **_names(replayed)}
    for name in sorted(names):
        before, now = answer_on(saved, name), answer_on(replayed, name)
        if before != now:
            yield Differs(f"node {name}", before, now)
    if saved.chosen != replayed.chosen:
        pair = str(saved.chosen), str(replayed.chosen)
        yield Differs("chosen node", *pair)
    if saved.allocation != replayed.allocation:
        yield Differs("cards", cards_text(saved), cards_text(replayed))


def _names(decision: Decision) -> dict[NodeName, None]:
    return dict.fromkeys([*decision.scores, *decision.failed, *decision.unresolvable])


def answer_on(decision: Decision, name: NodeName) -> str:
    """Tell in words what a decision says of a node."""
    if name in decision.scores:
        return f"fits, score {decision.scores[name]}"
    if name in decision.failed:
        return f"does not fit: {decision.failed[name]}"
    if name in decision.unresolvable:
        return f"would never fit: {decision.unresolvable[name]}"
    return _NOT_ASKED


def cards_text(decision: Decision) -> str:
    """Tell in words which cards each container gets."""
    if decision.allocation is None:
        return "none"
    rows = [
        ", ".join(
            f"{share.device_uuid} {share.memory_mib} MiB {share.core_percent} %"
            for share in row
        )
        for row in decision.allocation
    ]
    return "; ".join(row or "no card" for row in rows)
