"""What Events say: counts and codes, never the name of a node or a card."""

from extender.observe.pod_events import (
    BINDING,
    SCHEDULING,
    bind_event,
    impossible_event,
    refused_event,
)
from extender.observe.words import BindRefusal


def test_refused_everywhere() -> None:
    """Most frequent first; a node with two codes counts for both."""
    event = refused_event(
        {
            "CardInsufficientCore, CardInsufficientMemory": 4,
            "CardInsufficientMemory": 3,
        },
        {"CardTypeMismatch": 5},
    )
    assert event.reason == SCHEDULING
    assert event.note == (
        "0/12 nodes fit: 7 CardInsufficientMemory, 5 CardTypeMismatch, "
        "4 CardInsufficientCore; 5 would not even without other pods"
    )


def test_cause_is_the_set_of_codes() -> None:
    """Not how many nodes each has: they change all the time."""
    once = refused_event({"CardInsufficientMemory": 7}, {})
    again = refused_event({"CardInsufficientMemory": 6}, {})
    other = refused_event({"CardInsufficientMemory": 6, "NodeLocked": 1}, {})
    assert once.cause == again.cause != other.cause


def test_request_that_cannot_be_honoured() -> None:
    """Its own words, in one line and within what the API server takes."""
    note = impossible_event("limits: 'x\n\x1b[2J' is not a number " + "ä" * 2_000).note
    assert note.startswith("no node fits: limits: 'x\\n\\x1b[2J' is not a number")
    assert note.isprintable()
    assert len(note.encode()) <= 1_024


def test_bind_failures() -> None:
    """Each has a text of its own."""
    told = [bind_event(why, "node n1 is busy") for why in BindRefusal]
    notes = [event.note for event in told if event is not None]
    assert len(set(notes)) == len(notes) == 8
    assert not any("n1" in note for note in notes)
    assert bind_event(BindRefusal.OTHER_POD) is None
    problem = "no longer fits: CardInsufficientMemory"
    fits = bind_event(BindRefusal.NO_LONGER_FITS, problem)
    assert fits is not None
    assert fits.reason == BINDING
    assert fits.note.endswith("any more: CardInsufficientMemory")
