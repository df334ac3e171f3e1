"""What is printed of each refusal, in numbers."""

import pytest
from rich.console import Console

from extender.cli.refused import print_refused
from extender.core.names import DeviceUUID, NodeName
from extender.core.reasons import Reason
from extender.core.rules import CARD_RULES, USE_RULES
from extender.core.usage import Usage
from extender.embedded.scheduler import RefusedPod
from extender.verbs.verdicts import CardVerdict, NodeVerdict
from tests.values import pod, request

OF_CARDS = dict.fromkeys(reason for reason, _ in (*CARD_RULES, *USE_RULES))


def printed(reason: Reason, needed: Usage) -> str:
    """Print that the only card of a node is refused."""
    card = CardVerdict(DeviceUUID("a"), "model", reason, Usage(2, 3_000, 40), needed)
    verdict = NodeVerdict(NodeName("n1"), card_count=1, cards=(card,))
    console = Console(width=200)
    with console.capture() as capture:
        print_refused(console, RefusedPod(pod("p", request()), (verdict,)))
    return capture.get()


@pytest.mark.parametrize("reason", OF_CARDS, ids=lambda reason: reason.value)
def test_every_reason_of_a_card_is_told(reason: Reason) -> None:
    """With something besides its code."""
    (line,) = [each for each in printed(reason, Usage(1)).splitlines() if "1/1" in each]
    _, _, told = line.partition(reason.value)
    assert told.strip()


def test_slots_of_a_profile_are_told_in_numbers() -> None:
    """One slot that is not free needs none."""
    exhausted = Reason.CARD_SLOTS_EXHAUSTED
    assert "needs 3 slots, 2 free" in printed(exhausted, Usage(3))
    assert "no slot free" in printed(exhausted, Usage(1))
