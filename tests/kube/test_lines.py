"""Lines out of chunks, wherever these are cut."""

from collections.abc import AsyncIterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extender.errors import Unreachable
from extender.kube.lines import json_lines


async def chunks(*parts: bytes) -> AsyncIterator[bytes]:
    """Give the parts one by one."""
    for part in parts:
        yield part


@given(
    lines=st.lists(st.binary(min_size=1).filter(lambda one: b"\n" not in one)),
    cuts=st.lists(st.integers(min_value=0, max_value=200)),
)
async def test_cuts_change_nothing(lines: list[bytes], cuts: list[int]) -> None:
    """Every line that is not blank comes whole, in order."""
    text = b"".join(line + b"\n" for line in lines)
    places = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    parts = [text[a:b] for a, b in pairwise(places)]
    expected = [line for line in lines if line.strip()]
    assert [line async for line in json_lines(chunks(*parts))] == expected


async def test_rest_without_an_end_is_dropped() -> None:
    """The stream was cut within it."""
    assert [line async for line in json_lines(chunks(b"a\nb"))] == [b"a"]


async def test_line_without_end_is_refused() -> None:
    """A limit, so that memory has one too."""
    with pytest.raises(Unreachable):
        _ = [line async for line in json_lines(chunks(b"aaaa", b"aaaa"), longest=6)]
