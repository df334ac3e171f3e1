"""What a status page knows, read from its messages without our writer."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import orjson

Card = tuple[Any, ...]
"""Kind, model, mode, slots, MiB, cores, whether these are units; number; charged slots,
MiB, cores; the code of why it is closed."""


@dataclass(slots=True)
class BoardPage:
    """A page's nodes and pods."""

    nodes: dict[str, tuple[tuple[Card, ...], int, tuple[str, ...]]] = field(
        default_factory=dict
    )
    """Cards, number of pods, and problems, by name."""
    pods: dict[int, tuple[Any, ...]] = field(default_factory=dict)
    """Namespace, name, node, standing, problem, reasons, any cause, by number."""
    revision: str = ""

    def take(self, body: bytes) -> None:
        """Take in a whole board, or a change of it."""
        told = orjson.loads(body)
        assert told["format"] == 1
        self.revision = told["revision"]
        self._take_nodes(told["nodes"], told["reasons"])
        self._take_pods(told["pods"], told["reasons"], told["places"])

    def _take_nodes(self, nodes: Any, reasons: list[str]) -> None:  # noqa: ANN401
        for name in nodes["gone"]:
            self.nodes.pop(name, None)
        columns = ("shape", "number", "slots", "mib", "cores", "closed")
        cards = zip(*(nodes[each] for each in columns), strict=True)
        for place, name in enumerate(nodes["name"]):
            held = tuple(
                (
                    *nodes["shapes"][shape],
                    *rest,
                    "" if closed < 0 else reasons[closed],
                )
                for shape, *rest, closed in (
                    next(cards) for _ in range(nodes["cards"][place])
                )
            )
            problems = tuple(nodes["problems"].get(str(place), ()))
            self.nodes[name] = (held, nodes["pods"][place], problems)
        assert next(cards, None) is None

    def _take_pods(self, pods: Any, reasons: list[str], places: list[str]) -> None:  # noqa: ANN401
        for number in pods["gone"]:
            self.pods.pop(number, None)
        for row, number in enumerate(pods["id"]):
            place = pods["place"][row]
            refused = pods["refused_by"].get(str(row), [])
            self.pods[number] = (
                pods["namespaces"][pods["namespace"][row]],
                pods["name"][row],
                None if place < 0 else places[place],
                pods["standings"][pods["standing"][row]],
                pods["problem"].get(str(row), ""),
                tuple((reasons[code], count) for code, count in refused),
                *(pods["causes"][cause] for cause in _one(pods["cause"], row)),
            )

    @property
    def shown(self) -> tuple[dict[str, Any], Counter[tuple[Any, ...]]]:
        """All that a person sees; the numbers of pods are the page's own."""
        return self.nodes, Counter(self.pods.values())


def _one(column: Any, row: int) -> list[int]:  # noqa: ANN401
    return [column[str(row)]] if str(row) in column else []
