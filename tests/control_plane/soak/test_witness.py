"""The soak's witness tells each cause apart, and what must not happen from the rest."""

from itertools import count

from tests.builders import Json, NodeBuilder, PodBuilder, node, pod
from tests.control_plane.plugin import BIND_PHASE, BIND_TIME, LOCK, TO_ALLOCATE
from tests.control_plane.soak.stream import Change, Kind
from tests.control_plane.soak.witness import Cause, Witness

NODE = node("n1").gpu("GPU-a", memory=24_000)
START = 1_767_225_600
"""2026-01-01T00:00:00Z."""


class Watched:
    """A witness, and a cluster as it is told of it."""

    def __init__(self) -> None:
        self.witness = Witness()
        self._revisions = count(1)
        self._shown: dict[tuple[Kind, str], Json] = {}
        self.show_node(NODE)

    def show_node(self, builder: NodeBuilder) -> None:
        """Show the node."""
        self._tell(Kind.NODE, builder.name, builder.build())

    def lock(self, owner: str | None, *, second: int = 0) -> None:
        """Show the node's lock, as it was taken in a second of the test."""
        time = f"2026-01-01T00:00:{second:02}.123456789Z"
        texts = {} if owner is None else {LOCK: f"{time},default,{owner}"}
        self.show_node(NODE.annotations(texts))

    def show(self, builder: PodBuilder) -> None:
        """Show a pod."""
        self._tell(Kind.POD, f"default/{builder.name}", builder.build())

    def remove(self, builder: PodBuilder) -> None:
        """Delete a pod."""
        self._tell(Kind.POD, f"default/{builder.name}", None)

    def bind(self, builder: PodBuilder) -> None:
        """Bind a pod as an extender does, and serve it."""
        self.lock(builder.name)
        self.show(bound(builder))
        self.lock(None)

    def causes(self) -> dict[Cause, int]:
        """Give what was seen of each cause."""
        return dict(self.witness.causes)

    def wrongs(self) -> list[str]:
        """Give what must not happen, without where."""
        return [one.text.partition(": ")[2] for one in self.witness.wrongs]

    def _tell(self, kind: Kind, name: str, after: Json | None) -> None:
        before = self._shown.get((kind, name))
        if after is None:
            del self._shown[kind, name]
        else:
            self._shown[kind, name] = after
        self.witness.see(Change(next(self._revisions), kind, name, before, after))


def app(name: str, mib: int) -> PodBuilder:
    """Ask for memory, and hold it."""
    asking = pod(name).app("a", gpu=1, gpumem=mib)
    return asking.holding(f"GPU-a,NVIDIA,{mib},0:;")


def with_init(name: str) -> PodBuilder:
    """Hold 20,000 MiB while the init runs, and 10,000 afterwards."""
    asking = pod(name).init("i", gpu=1, gpumem=20_000).app("a", gpu=1, gpumem=10_000)
    return asking.holding("GPU-a,NVIDIA,20000,0:;GPU-a,NVIDIA,10000,0:;").on("n1")


def bound(builder: PodBuilder, *, second: int = 0) -> PodBuilder:
    """Be served, and bound by a Binding that was written in a second of the test."""
    texts = {BIND_PHASE: "success", TO_ALLOCATE: ";", BIND_TIME: str(START + second)}
    return builder.on("n1").annotations(texts)


def test_full_is_not_too_full() -> None:
    """A card may be taken to the last MiB."""
    watched = Watched()
    watched.bind(app("p", 23_999))
    watched.bind(app("q", 1))
    assert watched.causes() == {}
    assert watched.wrongs() == []


def test_pod_without_room_was_placed() -> None:
    """One MiB too much, and it is a wrong."""
    watched = Watched()
    watched.bind(app("p", 24_000))
    watched.bind(app("q", 1))
    assert watched.causes() == {Cause.PLACED: 1}
    (wrong,) = watched.wrongs()
    assert wrong.startswith("placed: n1: GPU-a has ")


def test_too_many_device_ids_were_placed() -> None:
    """Kubelet's ids are counted, too, and finished inits keep theirs."""
    watched = Watched()
    watched.show_node(NODE.allocatable(1))
    watched.bind(app("p", 1_000))
    watched.bind(app("q", 1_000))
    # `lock` shows all ten again; what was placed before that stays a wrong.
    assert watched.causes() == {}
    few = NODE.allocatable(2)
    watched.show_node(few)
    watched.show(bound(app("r", 1_000)))
    assert watched.causes() == {Cause.PLACED: 1}


def test_pod_that_counts_more_was_re_inflated() -> None:
    """Its sandbox is down, so its init is to run again."""
    watched = Watched()
    done = with_init("p").running("a").exited("i").sandbox().phase("Running")
    watched.bind(done)
    watched.bind(app("q", 14_000))
    assert watched.causes() == {}
    watched.show(done.sandbox(ready=False))
    watched.show(done.sandbox(ready=False))
    assert watched.causes() == {Cause.RE_INFLATED: 1}


def test_nothing_is_to_be_placed_where_too_much_is_held() -> None:
    """That a card held too much before does not excuse who was bound to it then."""
    watched = Watched()
    done = with_init("p").running("a").exited("i").sandbox().phase("Running")
    watched.bind(done)
    watched.bind(app("q", 14_000))
    watched.show(done.sandbox(ready=False))
    watched.bind(app("r", 1))
    assert watched.causes() == {Cause.RE_INFLATED: 1, Cause.PLACED: 1}


def test_pod_that_fitted_after_its_lock_was_crossed() -> None:
    """Another one was re-inflated between the lock and the Binding."""
    watched = Watched()
    done = with_init("p").running("a").exited("i").sandbox().phase("Running")
    watched.bind(done)
    watched.lock("q")
    watched.show(done.sandbox(ready=False))
    watched.show(bound(app("q", 14_000)))
    assert watched.causes() == {Cause.CROSSED: 1}
    assert watched.wrongs() == []


def test_pod_that_fitted_under_an_earlier_lock_was_placed() -> None:
    """It gave up then; its second bind took the lock when all room was taken."""
    watched = Watched()
    watched.lock("q", second=1)
    watched.lock(None)
    watched.bind(app("p", 14_000))
    watched.lock("q", second=2)
    watched.show(bound(app("q", 14_000), second=2))
    assert watched.causes() == {Cause.PLACED: 1}
    (wrong,) = watched.wrongs()
    assert wrong.startswith("placed: n1: GPU-a has ")


def test_lock_that_was_taken_over_is_an_earlier_one() -> None:
    """The first bind was killed, and never sent its Binding."""
    watched = Watched()
    done = with_init("p").running("a").exited("i").sandbox().phase("Running")
    watched.bind(done)
    watched.lock("q", second=1)
    watched.show(done.sandbox(ready=False))
    watched.lock("q", second=2)
    watched.show(bound(app("q", 14_000), second=2))
    assert watched.causes() == {Cause.PLACED: 1}
    assert len(watched.wrongs()) == 1


def test_late_binding_is_judged_by_its_own_lock() -> None:
    """Its sender was killed, and the pod's second bind has taken the lock since."""
    watched = Watched()
    done = with_init("p").running("a").exited("i").sandbox().phase("Running")
    watched.bind(done)
    watched.lock("q", second=1)
    watched.show(done.sandbox(ready=False))
    watched.lock("q", second=2)
    watched.show(bound(app("q", 14_000), second=1))
    assert watched.causes() == {Cause.CROSSED: 1}
    assert watched.wrongs() == []


def test_node_that_offers_less_has_shrunk() -> None:
    """A smaller card does not blame the pod that was there."""
    watched = Watched()
    watched.bind(app("p", 20_000))
    watched.show_node(node("n1").gpu("GPU-a", memory=16_000))
    assert watched.causes() == {Cause.SHRUNK: 1}


def test_unreadable_cards_count_as_they_were() -> None:
    """A node that flaps is neither empty nor full."""
    watched = Watched()
    watched.bind(app("p", 20_000))
    cards = NODE.build()["metadata"]["annotations"]
    flapping = {key: text.replace("24000", '"?"') for key, text in cards.items()}
    watched.show_node(NODE.annotations(flapping))
    watched.show_node(NODE.allocatable(0))
    watched.bind(app("q", 4_000))
    assert watched.causes() == {}


def test_pod_that_is_gone_holds_nothing() -> None:
    """Its room is free for the next one."""
    watched = Watched()
    watched.bind(app("p", 24_000))
    watched.remove(app("p", 24_000))
    watched.bind(app("q", 24_000))
    assert watched.causes() == {}


def test_bind_without_the_lock_is_a_wrong() -> None:
    """So is one under the lock of another pod."""
    watched = Watched()
    watched.show(bound(app("p", 1)))
    watched.lock("other")
    watched.show(bound(app("q", 1)))
    assert watched.wrongs() == [
        "bound to n1 while it is locked by ''",
        "bound to n1 while it is locked by 'default/other'",
    ]


def test_bind_beside_an_unserved_pod_is_a_wrong() -> None:
    """A plugin serves one pod after another."""
    watched = Watched()
    watched.lock("p")
    waits = app("p", 1).on("n1").annotations({BIND_PHASE: "allocating"})
    watched.show(waits)
    watched.bind(app("q", 1))
    assert watched.wrongs() == ["bound to n1 while default/p is unserved"]
