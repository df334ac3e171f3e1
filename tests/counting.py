"""Count what code does, so that growth is told without a clock.

Three counts, since a cost can hide from any two of them: instructions of Python,
elements that NumPy passes over, and bytes in memory at once (a copy of a list takes
neither instructions nor elements). All three are the same in every run.
"""

# ruff: noqa: ANN401 - what NumPy passes to a subclass has no narrower type
import sys
import tracemalloc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass, fields
from types import FrameType
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pytest

_REPEATS: Final = 3
"""The least of so many counts: now and then a dictionary grows and is copied, which
costs nothing on the average."""

_CREATORS: Final = (
    "arange",
    "array",
    "empty",
    "flatnonzero",
    "fromiter",
    "full",
    "zeros",
)

_SPARE_RATIO: Final = 1.05
_SPARE: Final = 200
"""Bytes or steps that no growth is told from: one more number of two digits."""


@dataclass(frozen=True, slots=True)
class Work:
    """What one action did.

    Attributes:
        steps: Instructions of Python, also those by which names are compared.
        elements: Of arrays: read by operations, or written.
        peak_bytes: Most that was allocated at once, beyond what was before.
    """

    steps: int
    elements: int
    peak_bytes: int


class CountedName(str):
    """A name whose look-ups and comparisons are steps of Python, so that they count."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return str.__eq__(self, other)

    def __hash__(self) -> int:
        return str.__hash__(self)


class CountedArray(npt.NDArray[Any]):
    """An array that counts what is read of it, and whose results count as well."""

    elements = 0

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: object, **options: Any
    ) -> Any:
        if "out" in options:
            options["out"] = tuple(_plain(each) for each in options["out"])
        if (where := options.get("where")) is not None:
            options["where"] = _plain(where)
        plain = [_plain(each) for each in inputs]
        result = getattr(ufunc, method)(*plain, **options)
        _count(*plain, result)
        return _counted(result)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        _count(*args)
        return super().__array_function__(func, types, args, kwargs)

    def __getitem__(self, key: Any) -> Any:
        result = super().__getitem__(key)
        if _is_copied(key):
            _count(result)
        return result

    def __setitem__(self, key: Any, value: Any) -> None:
        _count(value)
        super().__setitem__(key, value)

    def copy(self, order: Any = "C") -> Any:
        """Copy, and count what is copied."""
        _count(self)
        return super().copy(order)

    def tolist(self) -> Any:
        """Make a list, and count what goes into it."""
        _count(self)
        return super().tolist()


@contextmanager
def counted_arrays() -> Iterator[None]:
    """Have every array that is made meanwhile count, and all that come of it."""
    with pytest.MonkeyPatch.context() as patch:
        for name in _CREATORS:
            patch.setattr(np, name, _counting(getattr(np, name)))
        yield


def work_of(action: Callable[[], object]) -> Work:
    """Count what an action does; it is done several times, the first without counting.

    Args:
        action: Does the same every time, as far as cost goes.
    """
    action()
    runs = [_steps_and_elements(action) for _ in range(_REPEATS)]
    peaks = [_peak_bytes(action) for _ in range(_REPEATS)]
    return Work(min(run[0] for run in runs), min(run[1] for run in runs), min(peaks))


def assert_linear(work_at: Mapping[int, Work]) -> None:
    """Fail where work grows faster than the size that it is given by."""
    smallest = min(work_at)
    _assert_grows_by(work_at, {size: size / smallest for size in work_at})


def assert_flat(work_at: Mapping[int, Work]) -> None:
    """Fail where work grows at all with the size that it is given by."""
    _assert_grows_by(work_at, dict.fromkeys(work_at, 1.0))


def _assert_grows_by(work_at: Mapping[int, Work], factors: Mapping[int, float]) -> None:
    first = astuple(work_at[min(work_at)])
    for size, work in work_at.items():
        for field, least, now in zip(fields(Work), first, astuple(work), strict=True):
            most = least * factors[size] * _SPARE_RATIO + _SPARE
            assert now <= most, f"{field.name} at {size}: {now}, but {least} at first"


def _steps_and_elements(action: Callable[[], object]) -> tuple[int, int]:
    steps = 0

    def on_call(frame: FrameType, _event: str, _arg: object) -> Any:
        frame.f_trace_lines, frame.f_trace_opcodes = False, True
        return on_step

    def on_step(_frame: FrameType, event: str, _arg: object) -> Any:
        nonlocal steps
        steps += event == "opcode"
        return on_step

    before, CountedArray.elements = sys.gettrace(), 0
    sys.settrace(on_call)
    try:
        action()
    finally:
        sys.settrace(before)
    return steps, CountedArray.elements


def _peak_bytes(action: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        action()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def _count(*values: object) -> None:
    CountedArray.elements += sum(
        value.size if isinstance(value, np.ndarray) else 1 for value in values
    )


def _is_copied(key: object) -> bool:
    """Tell whether an index copies elements out; slices and numbers do not."""
    keys: Sequence[object] = key if isinstance(key, tuple) else (key,)
    return any(isinstance(each, np.ndarray | list) for each in keys)


def _plain(value: Any) -> Any:
    return value.view(np.ndarray) if isinstance(value, CountedArray) else value


def _counted(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_counted(each) for each in value)
    return value.view(CountedArray) if isinstance(value, np.ndarray) else value


def _counting(create: Callable[..., Any]) -> Callable[..., Any]:
    def created(*args: Any, **options: Any) -> Any:
        result = create(*args, **options)
        _count(result)
        return _counted(result)

    return created
