"""A page that is told of changes shows what one that begins now does."""

from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from extender.core.kind_set import Kinds
from extender.core.kinds import NVIDIA
from extender.core.names import NodeName, PodUID
from extender.core.pod import Pod
from extender.embedded.cluster import EmbeddedCluster
from extender.service import Extender
from extender.service.board import Board
from extender.state.events import (
    NodeGone,
    NodeSeen,
    PodGone,
    PodSeen,
    Recount,
    Reserved,
    Unreserved,
)
from extender.wire.extender_v1 import ExtenderArgs
from extender.wire.pods import PodReader
from tests.board_page import BoardPage
from tests.builders import NodeBuilder, PodBuilder, node, pod
from tests.values import row

NODES: Final[tuple[NodeBuilder, ...]] = (
    node("n1").gpu("GPU-a").gpu("GPU-b"),
    node("n1").gpu("GPU-a", health=False).gpu("GPU-b"),
    node("n1").gpu("GPU-b"),
    node("n1").gpu("GPU-a").gpu("GPU-b").cordon("GPU-b"),
    node("n1").gpu("GPU-a").allocatable(0),
    node("n1"),
    node("n2").gpu("GPU-c", memory=10_000),
    node("n2").annotations({"hami.io/node-nvidia-register": "torn"}),
)
ASKING: Final = [
    pod(name).init("i", gpu=1, gpumem=9000).app("a", gpu=1, gpumem=4000)
    for name in ("p1", "p2", "p3")
]
ROWS: Final = "GPU-a,NVIDIA,9000,0:;GPU-a,NVIDIA,4000,0:;"
PODS: Final[tuple[PodBuilder, ...]] = tuple(
    form
    for each in ASKING
    for form in (
        each,
        each.nominated("n1"),
        each.on("n1").holding(ROWS).phase("Running"),
        each.on("n1").holding(ROWS).exited("i").running("a").phase("Running"),
        each.on("n2").holding(ROWS.replace("GPU-a", "GPU-c")),
        each.on("n2"),
        each.on("n1").holding("torn"),
        each.on("n1").holding(ROWS).phase("Succeeded"),
        each.terminating(),
        each.app("b", gpu="x"),
    )
)
NAMES: Final = (NodeName("n1"), NodeName("n2"))


def extender() -> Extender:
    """Make one without a node."""
    reader = PodReader(Kinds([NVIDIA]))
    made = Extender(EmbeddedCluster(reader), reader, lambda: 0.0)
    made.mark_synced()
    return made


def board_of(shown: Extender) -> Board:
    """Begin to look."""
    return Board(shown.ledger, shown.last_refusals, lambda: shown.reader.kinds)


def updated(board: Board) -> bool:
    """Work out what changed, without turns."""
    steps = board.update()
    while True:
        try:
            next(steps)
        except StopIteration as ended:
            return bool(ended.value)


@st.composite
def events(draw: st.DrawFn, shown: Extender) -> None:
    """Let one thing happen, whether it makes sense or not."""
    read = shown.reader.read
    kind = draw(
        st.sampled_from(["pod"] * 4 + ["ours"] * 3 + ["node", "gone", "gone", "all"])
    )
    uids = [*shown.ledger.pods] or [PodUID("never seen")]
    match kind:
        case "pod":
            forms = draw(st.sampled_from([ASKING, PODS]))
            shown.take_in(PodSeen(read(draw(st.sampled_from(forms)).build())))
        case "node":
            shown.take_in(
                NodeSeen(shown.read_node(draw(st.sampled_from(NODES)).build()))
            )
        case "gone":
            if draw(st.integers(0, 3)):
                shown.take_in(PodGone(draw(st.sampled_from(uids))))
            else:
                shown.take_in(NodeGone(draw(st.sampled_from(NAMES))))
        case "ours":
            _decide(draw, shown, read(draw(st.sampled_from(ASKING)).build()))
        case _:
            shown.ledger.apply(Recount())


def _decide(draw: st.DrawFn, shown: Extender, asking: Pod) -> None:
    match draw(st.sampled_from(["filter", "reserve", "give back"])):
        case "filter":
            shown.filter(ExtenderArgs(asking, NAMES, None))
        case "reserve":
            rows = (row(("GPU-a", 9000, 0)), row(("GPU-a", 4000, 0)))
            shown.ledger.apply(Reserved(asking, draw(st.sampled_from(NAMES)), rows))
        case _:
            shown.ledger.apply(Unreserved(asking.uid))


@given(data=st.data())
def test_changes_add_up_to_the_whole(data: st.DataObject) -> None:
    """For pages that come at any time, and that miss any changes on the way."""
    shown = extender()
    for _ in range(data.draw(st.integers(0, 5), label="before")):
        data.draw(events(shown))
    board = board_of(shown)
    updated(board)
    pages: list[BoardPage] = [BoardPage()]
    pages[0].take(board.whole().encode())
    for _ in range(data.draw(st.integers(2, 12), label="steps")):
        match data.draw(st.sampled_from(["happens", "happens", "update", "page"])):
            case "happens":
                for _ in range(data.draw(st.integers(1, 3), label="events")):
                    data.draw(events(shown))
            case "update":
                updated(board)
            case _ if data.draw(st.booleans(), label="known page"):
                page = data.draw(st.sampled_from(pages), label="page")
                page.take(board.since(page.revision).encode())
            case _:
                pages.append(BoardPage())
                pages[-1].take(board.whole().encode())
    updated(board)
    for page in pages:
        page.take(board.since(page.revision).encode())
        assert page.revision == board.revision
    new = board_of(shown)
    updated(new)
    whole = BoardPage()
    whole.take(new.whole().encode())
    for page in pages:
        assert page.shown == whole.shown
    assert not updated(new)


def test_revisions_of_others_are_not_known() -> None:
    """Of another process, of later ones, and of what is no revision."""
    board = board_of(extender())
    other = board_of(extender())
    epoch = board.revision.partition(".")[0]
    assert board.knows(board.revision)
    for text in (other.revision, f"{epoch}.1", f"{epoch}.", f"{epoch}.-0", "", "x"):
        assert not board.knows(text), text
    assert not board.knows(f"{epoch}.{'9' * 5_000}")


def test_pod_of_no_ledger_is_not_kept() -> None:
    """Who asks filter is not checked: what it makes up takes no memory."""
    shown = extender()
    asking = shown.reader.read(ASKING[0].build())
    shown.filter(ExtenderArgs(asking, NAMES, None))
    assert shown.last_refusals.of(PodUID(asking.uid)) == ()
    shown.take_in(PodSeen(asking))
    shown.filter(ExtenderArgs(asking, NAMES, None))
    assert shown.last_refusals.of(asking.uid) == (("node unregistered", 2),)
    shown.take_in(PodGone(asking.uid))
    assert shown.last_refusals.of(asking.uid) == ()


def test_refusal_alone_is_news() -> None:
    """Though it changes nothing in the ledger; and that a pod fits now is, too."""
    shown = extender()
    asking = shown.reader.read(ASKING[0].build())
    shown.take_in(PodSeen(asking))
    board = board_of(shown)
    assert updated(board)
    page = BoardPage()
    page.take(board.whole().encode())
    for reasons in ((("node unregistered", 2),), ()):
        shown.filter(ExtenderArgs(asking, NAMES, None))
        assert updated(board)
        page.take(board.since(page.revision).encode())
        assert [each[5] for each in page.pods.values()] == [reasons]
        shown.take_in(NodeSeen(shown.read_node(NODES[0].build())))
        updated(board)
