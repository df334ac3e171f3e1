"""What is kept of a run is what was measured."""

from pathlib import Path

import orjson
import pytest

from benchmarks.record import (
    RecordUnusable,
    decode_record,
    encode_record,
    read_record,
)
from benchmarks.results import Limit, Row
from tests.unit.benchmarks.builders import record, row


def test_a_run_comes_back_as_it_was_written() -> None:
    """Encoding and decoding are inverse, limits of either end included."""
    both = Row(
        part="burst",
        case={"nodes": 5},
        figures={},
        ratios={"a": 1.0},
        limits={"a": Limit(least=0.5), "b": Limit(least=1.0, most=2.0)},
        budgets={"a": Limit(least=0.7)},
    )
    run = record(row(), both, is_full=True, churn="it ended")

    again = decode_record(encode_record(run))

    assert list(again.rows) == list(run.rows)
    assert again.failures == {"churn": "it ended"}
    assert again.parts == ["http", "churn"]
    assert again.is_full
    assert encode_record(again) == encode_record(run)


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"date": 1, "rows": []}'])
def test_something_else_is_refused(content: bytes, tmp_path: Path) -> None:
    """A file that holds no run is named."""
    file = tmp_path / "results.json"
    file.write_bytes(content)

    with pytest.raises(RecordUnusable, match=r"results\.json: no run"):
        read_record(file)


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    """A run that is not there is named too."""
    with pytest.raises(RecordUnusable, match=r"none\.json: No such file"):
        read_record(tmp_path / "none.json")


def test_an_earlier_run_is_read_as_well() -> None:
    """Its budgets are numbers, and what it measured follows from rows and command."""
    content = orjson.loads(encode_record(record(row())))
    del content["parts"], content["is_full"]
    content["rows"][0]["budgets"] = {"p50_ms": 2}
    content["command"] += " --full"

    again = decode_record(orjson.dumps(content))

    assert again.rows == [row()]
    assert again.parts == ["http"]
    assert again.is_full


def test_a_limit_has_only_the_ends_that_it_has() -> None:
    """What is absent is left out of the file, not null."""
    content = orjson.loads(encode_record(record(row())))

    assert content["rows"][0]["limits"] == {"p50_to_echo": {"most": 8.0}}
