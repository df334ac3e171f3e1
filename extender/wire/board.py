"""The status page's JSON: rows as columns, with what repeats in tables.

A whole board and a change have the same form; a change has the rows that changed, and
in ``gone`` those that are no more. Each message has its own tables, so that it can be
read alone. Columns of cards go on from node to node: the first ``cards[0]`` entries are
those of ``name[0]``. A card's ``closed`` and all other places in tables count from 0,
with -1 for none.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import Generic, TypeVar

import orjson

from extender.core.names import NodeName
from extender.verbs.board import BoardNode, BoardPod, CardShape
from extender.wire.objects import JsonObject

FORMAT = 1
"""Raised when a page that is open could not read a message any more."""

_Entry = TypeVar("_Entry", bound=Hashable)


def encode_board(
    head: JsonObject,
    nodes: Sequence[tuple[NodeName, BoardNode | None]],
    pods: Sequence[tuple[int, BoardPod | None]],
) -> bytes:
    """Write a board, or a change of one.

    Args:
        head: What is told besides.
        nodes: Rows by name; None for those that are gone.
        pods: Rows by the page's own number; None for those that are gone.

    Cost: about 1 us a card and a pod.
    """
    reasons, places = _Table[str](), _Table[str]()
    told: JsonObject = {
        "format": FORMAT,
        **head,
        "nodes": _nodes(nodes, reasons),
        "pods": _pods(pods, reasons, places),
        "reasons": reasons.entries,
        "places": places.entries,
    }
    return orjson.dumps(told)


def _nodes(
    rows: Sequence[tuple[NodeName, BoardNode | None]], reasons: "_Table[str]"
) -> JsonObject:
    shapes = _Table[CardShape]()
    there = [(name, row) for name, row in rows if row is not None]
    cards = [card for _, row in there for card in row.cards]
    return {
        "gone": [name for name, row in rows if row is None],
        "name": [name for name, _ in there],
        "pods": [row.pods for _, row in there],
        "problems": {
            str(place): row.problems
            for place, (_, row) in enumerate(there)
            if row.problems
        },
        "cards": [len(row.cards) for _, row in there],
        "shape": [shapes.place(card.shape) for card in cards],
        "number": [card.number for card in cards],
        "slots": [card.charged.slots for card in cards],
        "mib": [card.charged.memory_mib for card in cards],
        "cores": [card.charged.core_percent for card in cards],
        "closed": [
            reasons.place(card.closed_by) if card.closed_by else -1 for card in cards
        ],
        "shapes": [
            [
                shape.kind,
                shape.model,
                shape.mode,
                shape.capacity.slots,
                shape.capacity.memory_mib,
                shape.capacity.core_percent,
                shape.counts_units,
            ]
            for shape in shapes.entries
        ],
    }


def _pods(
    rows: Sequence[tuple[int, BoardPod | None]],
    reasons: "_Table[str]",
    places: "_Table[str]",
) -> JsonObject:
    namespaces, standings, causes = _Table[str](), _Table[str](), _Table[str]()
    there = [(number, row) for number, row in rows if row is not None]
    return {
        "gone": [number for number, row in rows if row is None],
        "id": [number for number, _ in there],
        "namespace": [namespaces.place(row.namespace) for _, row in there],
        "name": [row.name for _, row in there],
        "place": [
            -1 if row.node is None else places.place(row.node) for _, row in there
        ],
        "standing": [standings.place(row.standing) for _, row in there],
        "problem": _sparse([row.problem for _, row in there]),
        "refused_by": _sparse(
            [
                [[reasons.place(code), count] for code, count in row.refused_by]
                for _, row in there
            ]
        ),
        "cause": {
            str(place): causes.place(row.cause)
            for place, (_, row) in enumerate(there)
            if row.cause
        },
        "causes": causes.entries,
        "namespaces": namespaces.entries,
        "standings": standings.entries,
    }


def _sparse(column: Sequence[object]) -> Mapping[str, object]:
    """Leave out what is empty, as nearly all is."""
    return {str(place): value for place, value in enumerate(column) if value}


class _Table(Generic[_Entry]):
    """Values that come up often, each with its place."""

    def __init__(self) -> None:
        self._places: dict[_Entry, int] = {}

    @property
    def entries(self) -> list[_Entry]:
        """All values, in order of their places."""
        return list(self._places)

    def place(self, value: _Entry) -> int:
        """Give the place of a value, a new one the first time."""
        return self._places.setdefault(value, len(self._places))
