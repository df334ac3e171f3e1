"""Whether a plugin of Cambricon's still has to serve a bound pod."""

from typing import Final

import pytest

from extender.core.kind_set import Kinds
from extender.wire.nodes import decode_node
from extender.wire.pods import PodReader
from tests.builders import PodBuilder, node, pod
from tests.shipped import SHIPPED

OURS: Final = "CAMBRICON_DSMLU_ASSIGNED"
PLUGINS: Final = "CAMBRICON_DSMLU_ASSIGHED"
WAITS: Final = {
    "hami.io/cambricon-mlu-devices-allocated": "n1-cambricon-mlu-0,MLU,2048,20:;",
    "hami.io/cambricon-mlu-devices-to-allocate": "n1-cambricon-mlu-0,MLU,2048,20:;",
    "hami.io/bind-phase": "allocating",
    OURS: "false",
    PLUGINS: "false",
}

PODS: Final[dict[str, tuple[PodBuilder, bool]]] = {
    "just bound": (pod("p").app("a").annotations(WAITS), True),
    "bound by HAMi": (
        pod("p").app("a").annotations({k: v for k, v in WAITS.items() if k != PLUGINS}),
        True,
    ),
    "served by a plugin of one spelling": (
        pod("p").app("a").annotations({**WAITS, PLUGINS: "true"}),
        False,
    ),
    "served by one of the other": (
        pod("p").app("a").annotations({**WAITS, OURS: "true"}),
        False,
    ),
    "marked by nobody": (
        pod("p")
        .app("a")
        .annotations({k: v for k, v in WAITS.items() if k not in (OURS, PLUGINS)}),
        False,
    ),
    "admitted, though it is not marked": (
        pod("p").app("a").annotations(WAITS).sandbox(),
        False,
    ),
    "runs, though it is not marked": (
        pod("p").app("a").annotations(WAITS).running("a").phase("Running"),
        False,
    ),
    "failed": (pod("p").app("a").annotations(WAITS).phase("Failed"), False),
}


@pytest.mark.parametrize(("shown", "expected"), PODS.values(), ids=PODS)
def test_mlu_pod_waits_until_it_is_marked_or_admitted(
    shown: PodBuilder, *, expected: bool
) -> None:
    """The plugin empties no row, and writes no phase."""
    printed = shown.on("n1").build()
    printed["spec"]["containers"][0]["resources"] = {
        "limits": {"cambricon.com/vmlu": 1}
    }
    read = PodReader(Kinds([SHIPPED["MLU"]])).read(printed)
    assert read.is_unserved is expected


LOCKS: Final = {
    "held": ({"cambricon.com/dsmlu.lock": "t"}, (("cambricon.com/dsmlu.lock", "t"),)),
    "empty is free": ({"cambricon.com/dsmlu.lock": ""}, ()),
    "the common one is another": ({"hami.io/mutex.lock": "t,default,p"}, ()),
}


@pytest.mark.parametrize(("texts", "expected"), LOCKS.values(), ids=LOCKS)
def test_lock_of_a_kinds_own_is_read(
    texts: dict[str, str], expected: tuple[tuple[str, str], ...]
) -> None:
    """Where one of the kinds that are configured has such a lock."""
    shown = node("n1").annotations(texts).build()
    assert decode_node(shown, [SHIPPED["MLU"]]).own_locks == expected
    assert decode_node(shown, [SHIPPED["DCU"]]).own_locks == ()
