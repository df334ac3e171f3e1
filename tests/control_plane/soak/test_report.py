"""The soak's report finds what an extender saw and its witness did not."""

from tests.control_plane.soak.report import more_placed_than_crossed


def test_each_extender_sees_a_crossing_once() -> None:
    """What one did not see is not left for the other."""
    assert list(more_placed_than_crossed({"one": 0, "two": 0}, 0)) == []
    assert list(more_placed_than_crossed({"one": 1, "two": 1}, 1)) == []
    (problem,) = more_placed_than_crossed({"one": 0, "two": 2}, 1)
    assert problem == "two saw 2 cards overfull by a placement, not 1"
