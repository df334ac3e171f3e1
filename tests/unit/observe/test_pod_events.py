"""What Events say: counts and codes, never the name of a node or a card."""

from extender.observe.pod_events import (
    BINDING,
    SCHEDULING,
    BindFailure,
    bind_event,
    impossible_event,
    refused_event,
)


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
    notes = {bind_event(failure).note for failure in BindFailure}
    assert len(notes) == len(BindFailure)
    fits = bind_event(BindFailure.NO_LONGER_FITS, "CardInsufficientMemory")
    assert fits.reason == BINDING
    assert fits.note.endswith("any more: CardInsufficientMemory")
