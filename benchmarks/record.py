"""A run of the benchmarks as it is kept: ``results.json``, and the baseline."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import orjson

from benchmarks.results import Limit, Row

RESULTS: Final = Path("build/bench/results.json")
BASELINE: Final = Path("benchmarks/baseline.json")


class RecordUnusable(Exception):
    """A file holds no run of the benchmarks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One run, with all that is needed to compare it with later ones.

    Attributes:
        date: When it began, ISO 8601 in UTC.
        command: What repeats it.
        machine: Processors and system, never the host.
        versions: Of what figures depend on, by name.
        commit: What was measured; None where there was no checkout.
        rows: What was measured, part by part.
        failures: By part: why it has no rows, or not all of them.
        parts: Those that were to be measured.
        is_full: Every case was, not only the quick ones.
    """

    date: str
    command: str
    machine: str
    versions: Mapping[str, str]
    commit: str | None
    rows: Sequence[Row]
    failures: Mapping[str, str] = field(default_factory=dict)
    parts: Sequence[str] = ()
    is_full: bool = False


def encode_record(record: Record) -> bytes:
    """Write a run as JSON, for people too.

    Raises:
        orjson.JSONEncodeError: A case holds something else than text and numbers.
    """
    content = {
        "date": record.date,
        "command": record.command,
        "machine": record.machine,
        "versions": record.versions,
        "commit": record.commit,
        "failures": record.failures,
        "parts": record.parts,
        "is_full": record.is_full,
        "rows": [_row_object(row) for row in record.rows],
    }
    return orjson.dumps(content, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def read_record(path: Path) -> Record:
    """Read what `encode_record` wrote.

    Raises:
        RecordUnusable: The file cannot be read, or holds something else.
    """
    try:
        return decode_record(path.read_bytes())
    except OSError as error:
        raise RecordUnusable(f"{path}: {error.strerror}") from error
    except RecordUnusable as error:
        raise RecordUnusable(f"{path}: {error}") from error


def decode_record(content: bytes) -> Record:
    """Read a run from JSON.

    Raises:
        RecordUnusable: It is none.
    """
    try:
        read = orjson.loads(content)
        rows = [_row(entry) for entry in read["rows"]]
        return Record(
            date=read["date"],
            command=read["command"],
            machine=read["machine"],
            versions=read["versions"],
            commit=read["commit"],
            failures=read["failures"],
            rows=rows,
            # Runs until December 2026 do not tell these two.
            parts=read.get("parts", sorted({row.part for row in rows})),
            is_full=read.get("is_full", "--full" in read["command"].split()),
        )
    except (ValueError, KeyError, TypeError) as error:
        told = f"{type(error).__name__}: {error}"
        raise RecordUnusable(f"no run of the benchmarks: {told}") from error


def _row_object(row: Row) -> dict[str, object]:
    return {
        "part": row.part,
        "case": row.case,
        "figures": row.figures,
        "ratios": row.ratios,
        "limits": {name: _limit_object(limit) for name, limit in row.limits.items()},
        "budgets": {name: _limit_object(each) for name, each in row.budgets.items()},
    }


def _limit_object(limit: Limit) -> dict[str, float]:
    ends = {"least": limit.least, "most": limit.most}
    return {name: end for name, end in ends.items() if end is not None}


def _row(entry: dict[str, Any]) -> Row:
    return Row(
        part=entry["part"],
        case=entry["case"],
        figures=entry["figures"],
        ratios=entry["ratios"],
        limits={name: _limit(ends) for name, ends in entry["limits"].items()},
        budgets={name: _limit(ends) for name, ends in entry["budgets"].items()},
    )


def _limit(ends: dict[str, float] | float) -> Limit:
    """Read a bound; a number alone is an upper one, as in workloads."""
    return Limit(**ends) if isinstance(ends, dict) else Limit(most=ends)
