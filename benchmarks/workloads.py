"""Read a part's workload: which cases it measures, and the limits on their ratios.

Workloads are data, in ``workloads/<part>.yaml``, so that a case is added or a limit
moved without touching code. A mistake in one is told by file, key and value.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeVar, cast

import yaml

from benchmarks.results import Limit

FOLDER: Final = Path(__file__).with_name("workloads")

_Kind = TypeVar("_Kind")
_NAMES: Final[Mapping[type, str]] = {
    str: "a text",
    bool: "true or false",
    Mapping: "a mapping",
    list: "a list",
}
_REQUIRED: Final = object()


class WorkloadUnusable(Exception):
    """A workload's file cannot be used; the message has file, key and value."""


class Section(Mapping[str, object]):
    """One mapping of a workload's file, which knows where it stands.

    It is an ordinary mapping; its own methods read a value of one kind and raise
    `WorkloadUnusable` for any other.

    Example:
        >>> case = Section({"nodes": 100, "verb": "bind"}, "a.yaml")
        >>> case.whole("nodes"), case.text("verb"), case.flag("quick", default=False)
        (100, 'bind', False)
        >>> case.text("nodes")
        Traceback (most recent call last):
        benchmarks.workloads.WorkloadUnusable: a.yaml: nodes is 100, but must be a text
    """

    def __init__(self, content: Mapping[str, object], file: str, at: str = "") -> None:
        self._content = content
        self._file = file
        self._at = at

    def __getitem__(self, key: str) -> object:
        return self._content[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._content)

    def __len__(self) -> int:
        return len(self._content)

    def whole(self, key: str, *, least: int = 0, default: int | None = None) -> int:
        """Read a whole number; a missing one is an error without a default."""
        value = self.get(key, default)
        if type(value) is not int or value < least:
            raise self.unusable(key, f"a whole number of at least {least}")
        return value

    def wholes(self, key: str, *, least: int = 0) -> list[int]:
        """Read a list of whole numbers."""
        values = self._read(key, list, _REQUIRED)
        if not all(type(value) is int and value >= least for value in values):
            raise self.unusable(key, f"a list of whole numbers of at least {least}")
        return cast("list[int]", values)

    def number(self, key: str, *, default: float | None = None) -> float:
        """Read a number, whole or not."""
        value = self.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.unusable(key, "a number")
        return float(value)

    def numbers(self, key: str) -> dict[str, float]:
        """Read numbers by name; a missing key means none."""
        if key not in self:
            return {}
        named = self.section(key)
        return {name: named.number(name) for name in named}

    def text(
        self,
        key: str,
        *,
        default: str | None = None,
        choices: Sequence[str] | None = None,
    ) -> str:
        """Read a text, one of the choices where there are any."""
        value = self._read(key, str, _REQUIRED if default is None else default)
        if choices is not None and value not in choices:
            raise self.unusable(key, f"one of {', '.join(choices)}")
        return value

    def texts(self, key: str) -> list[str]:
        """Read a list of texts."""
        values = self._read(key, list, _REQUIRED)
        if not all(isinstance(value, str) for value in values):
            raise self.unusable(key, "a list of texts")
        return cast("list[str]", values)

    def flag(self, key: str, *, default: bool) -> bool:
        """Read true or false."""
        return self._read(key, bool, default)

    def section(self, key: str) -> "Section":
        """Read a mapping inside this one."""
        content = self._read(
            key, cast("type[Mapping[str, object]]", Mapping), _REQUIRED
        )
        return Section(content, self._file, self._path(key))

    def sections(self, key: str) -> "list[Section]":
        """Read a list of mappings inside this one; it must not be empty."""
        items = self._read(key, list, _REQUIRED)
        if not items or not all(isinstance(item, Mapping) for item in items):
            raise self.unusable(key, "a list of mappings, and not empty")
        return [
            Section(item, self._file, f"{self._path(key)}[{index}]")
            for index, item in enumerate(items)
        ]

    def with_value(self, key: str, value: object) -> "Section":
        """Make a copy in which one value is another."""
        return Section({**self._content, key: value}, self._file, self._at)

    def only(self, *known: str) -> None:
        """Refuse every other key, which is a mistyped one as a rule."""
        for key in self:
            if key not in known:
                raise self.unusable(key, f"left out; known are {', '.join(known)}")

    def unusable(self, key: str, wanted: str) -> WorkloadUnusable:
        """Make the error for one of the keys."""
        told = f"is {self[key]!r}" if key in self else "is missing"
        return WorkloadUnusable(
            f"{self._file}: {self._path(key)} {told}, but must be {wanted}"
        )

    def _read(self, key: str, kind: type[_Kind], default: object) -> _Kind:
        value = self.get(key, default)
        if not isinstance(value, kind):
            raise self.unusable(key, _NAMES[kind])
        return value

    def _path(self, key: str) -> str:
        return f"{self._at}.{key}" if self._at else str(key)


def load_workload(part: str, folder: Path = FOLDER) -> Section:
    """Read ``workloads/<part>.yaml``.

    Raises:
        WorkloadUnusable: There is no such file, or it holds no mapping.
    """
    file = f"{part}.yaml"
    try:
        content = yaml.safe_load((folder / file).read_text())
    except OSError as error:
        raise WorkloadUnusable(f"{file}: {error.strerror}") from error
    except yaml.YAMLError as error:
        raise WorkloadUnusable(f"{file}: {error}") from error
    if not isinstance(content, Mapping):
        raise WorkloadUnusable(f"{file} is {content!r}, but must be a mapping")
    return Section(content, file)


def limits_of(mapping: Mapping[str, object], field: str = "limits") -> dict[str, Limit]:
    """Read the limits on ratios; a missing field means none.

    Args:
        mapping: Holds them; a `Section` makes errors name the file.
        field: The key, under which each ratio has ``least``, ``most`` or both.

    Raises:
        WorkloadUnusable: A limit has neither, or another key, or is no number.

    Example:
        >>> limits_of({"limits": {"p50_to_echo": {"most": 6}}})
        {'p50_to_echo': Limit(least=None, most=6.0)}
    """
    if field not in mapping:
        return {}
    holder = mapping if isinstance(mapping, Section) else Section(mapping, "workload")
    limits = holder.section(field)
    return {name: _limit(limits, name) for name in limits}


def budgets_of(mapping: Mapping[str, object]) -> dict[str, Limit]:
    """Read ``budgets``, of figures or ratios; a missing field means none.

    Args:
        mapping: Holds them; a number alone is an upper bound, else as for `limits_of`.

    Raises:
        WorkloadUnusable: As for `limits_of`.

    Example:
        >>> found = budgets_of({"budgets": {"p50_ms": 2, "rate": {"least": 0.7}}})
        >>> {name: str(budget) for name, budget in found.items()}
        {'p50_ms': 'at most 2', 'rate': 'at least 0.7'}
    """
    if "budgets" not in mapping:
        return {}
    holder = mapping if isinstance(mapping, Section) else Section(mapping, "workload")
    budgets = holder.section("budgets")
    return {name: _budget(budgets, name) for name in budgets}


def _budget(budgets: Section, name: str) -> Limit:
    if isinstance(budgets[name], Mapping):
        return _limit(budgets, name)
    return Limit(most=budgets.number(name))


def _limit(limits: Section, name: str) -> Limit:
    ends = limits.section(name)
    ends.only("least", "most")
    if not ends:
        raise limits.unusable(name, "a mapping with least, most or both")
    return Limit(
        least=ends.number("least") if "least" in ends else None,
        most=ends.number("most") if "most" in ends else None,
    )
