"""The node lock's value."""

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extender.wire.lock import LockOwner, decode_lock, encode_lock

NAMESPACES = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", fullmatch=True)
NAMES = st.from_regex(r"[a-z0-9]([-a-z0-9.]{0,40}[a-z0-9])?", fullmatch=True)


@given(NAMESPACES, NAMES, st.integers(min_value=0, max_value=4_000_000_000 * 10**9))
def test_owner_comes_back(namespace: str, name: str, nanos: int) -> None:
    """And the time is RFC 3339, so that HAMi's plugin reads the value."""
    owner = LockOwner(namespace, name)
    text = encode_lock(owner, nanos)
    assert decode_lock(text) == owner
    moment = datetime.fromisoformat(text.partition(",")[0])
    assert int(moment.timestamp()) == nanos // 10**9


@given(st.integers(min_value=0, max_value=10**18))
def test_every_moment_has_its_own_value(nanos: int) -> None:
    """A release compares the whole value."""
    owner = LockOwner("default", "p")
    assert encode_lock(owner, nanos) != encode_lock(owner, nanos + 1)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-01-01T00:00:00Z",
        "2026-01-01T00:00:00Z,default",
        "2026-01-01T00:00:00Z,default,p,more",
        "2026-01-01T00:00:00Z,,p",
        "2026-01-01T00:00:00Z,default,",
        "2026-01-01T00:00:00Z,default,..",
        "2026-01-01T00:00:00Z,..,p",
        "2026-01-01T00:00:00Z,default,a/b",
    ],
)
def test_value_that_names_no_pod(text: str) -> None:
    """The plugin cannot read it either, or takes it for a time alone."""
    assert decode_lock(text) is None


def test_time_decides_nothing() -> None:
    """Clocks differ, so a time that cannot be read is no reason to take over."""
    assert decode_lock("yesterday,default,p") == LockOwner("default", "p")
