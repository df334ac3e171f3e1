"""The soak excuses what a deletion with force explains, and nothing else."""

import pytest

from tests.control_plane.soak.excuses import Excuses, Refusal, Wrong

EXCUSES = Excuses(
    deleted={"deleted"},
    misled={"next": "deleted", "one-more": "next", "stray": "another", "loop": "loop"},
    outages=[(100.0, 110.0)],
    without_ids={"n1": [(200.0, 205.0)]},
)
NO_IDS = "requested number of devices unavailable for nvidia.com/gpu"
NO_ANSWER = "no pod found: Cannot connect to host 127.0.0.1:1"
CUT = "Allocate failed due to [Errno 32] Broken pipe, which is unexpected"


@pytest.mark.parametrize(
    ("uids", "expected"),
    [
        ({"deleted"}, True),
        ({"next"}, True),
        ({"one-more"}, True),
        ({"stray"}, False),
        ({"another"}, False),
        ({"loop"}, False),
        ({"another", "next"}, True),
        (set(), False),
    ],
)
def test_excused_is_who_was_served_in_place_of_a_deleted_pod(
    uids: set[str], expected: object
) -> None:
    """And whoever was served in place of one of these; nobody else."""
    assert EXCUSES.excuse(Wrong("wrong", frozenset(uids))) is expected


@pytest.mark.parametrize(
    ("uid", "node_name", "at", "text", "expected"),
    [
        pytest.param("next", "n2", 0.0, "no row", True, id="misled"),
        pytest.param("p", "n2", 0.0, "no row", False, id="for no reason"),
        pytest.param("p", "n1", 210.0, NO_IDS, True, id="the node had no ids"),
        pytest.param("p", "n2", 210.0, NO_IDS, False, id="another node had none"),
        pytest.param("p", "n1", 300.0, NO_IDS, False, id="it had some by then"),
        pytest.param("p", "n1", 105.0, NO_ANSWER, True, id="the apiserver was away"),
        pytest.param("p", "n1", 105.0, CUT, True, id="it went away meanwhile"),
        pytest.param("p", "n1", 205.0, NO_ANSWER, False, id="it was there"),
        pytest.param("p", "n1", 105.0, "no row", False, id="that is no reason"),
    ],
)
def test_excused_refusals(
    uid: str, node_name: str, at: float, text: str, expected: object
) -> None:
    """A kubelet may refuse a pod for what the soak did to its node, at that time."""
    assert EXCUSES.excuse_refusal(Refusal(uid, node_name, at, text)) is expected
