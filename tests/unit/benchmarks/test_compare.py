"""A ratio that became worse is found; a figure never is."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import compare
from benchmarks.compare import problems_of
from benchmarks.record import encode_record
from tests.unit.benchmarks.builders import record, row


def test_equal_runs_have_no_problem() -> None:
    """A run is no worse than itself."""
    assert list(problems_of(record(row()), record(row()))) == []


def test_a_ratio_beyond_the_factor_is_a_regression() -> None:
    """Twice the ratio is told, a third more is within what runs differ by."""
    then = record(row(2.0))

    assert list(problems_of(record(row(2.6)), then)) == []
    assert list(problems_of(record(row(4.0)), then)) == [
        "http: verb filter, nodes 1000: p50_to_echo is 4, in the baseline 2"
    ]
    assert list(problems_of(record(row(4.0)), then, factor=2.5)) == []


def test_a_broken_limit_is_a_problem_whatever_the_baseline_had() -> None:
    """Limits hold by themselves."""
    slow = record(row(9.0))

    assert list(problems_of(slow, slow)) == [
        "http: verb filter, nodes 1000: p50_to_echo is 9, but at most 8"
    ]


def test_a_ratio_that_is_missing_is_a_problem() -> None:
    """What was not measured does not keep its limit."""
    (told,) = problems_of(record(row(None)), record(row()))

    assert "p50_to_echo is nan" in told


def test_runs_without_a_common_case_are_not_equal() -> None:
    """Nothing compared is not the same as nothing wrong."""
    told = list(problems_of(record(row(nodes=100)), record(row(nodes=5_000))))

    assert told[-1] == "no case is in both runs, so nothing was compared"


def test_a_case_of_the_baseline_that_was_not_measured_is_a_problem() -> None:
    """A case that was dropped, or renamed, is no longer watched by anybody."""
    then = record(row(), row(nodes=5_000))
    told = ["http: verb filter, nodes 5000: is in the baseline, and was not measured"]

    assert list(problems_of(record(row()), then)) == told
    assert list(problems_of(record(row(), is_full=True), then)) == told
    # A quick run leaves out most of what a full one has.
    full = replace(then, is_full=True)
    assert list(problems_of(record(row()), full)) == []


def test_a_case_of_a_part_that_was_not_asked_for_is_none() -> None:
    """A run of some parts is compared by these."""
    start = replace(row(), part="start")

    assert list(problems_of(record(row()), record(row(), start))) == []


def test_a_part_without_rows_is_a_problem() -> None:
    """The run says that it measured it, and the baseline has it."""
    start = replace(row(), part="start")
    now = replace(record(row()), parts=["http", "start"])

    assert list(problems_of(now, record(row(), start))) == [
        "start was measured, and has no rows"
    ]


def test_a_part_that_failed_is_a_problem() -> None:
    """Rows that are missing are not passed over."""
    (told,) = problems_of(record(row(), churn="it ended"), record(row()))

    assert told == "churn has failed: it ended"


@pytest.mark.parametrize(("ratio", "code"), [(2.0, 0), (4.0, 1)])
def test_the_exit_code_tells(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    ratio: float,
    code: int,
) -> None:
    """0 when nothing is worse, 1 when something is; the table has now and then."""
    now, then = tmp_path / "results.json", tmp_path / "baseline.json"
    now.write_bytes(encode_record(record(row(ratio))))
    then.write_bytes(encode_record(record(row(2.0))))
    monkeypatch.setattr(sys, "argv", ["compare", str(now), "--baseline", str(then)])

    with pytest.raises(SystemExit) as ended:
        compare.main()

    assert ended.value.code == code
    printed = capsys.readouterr().out
    assert f"{ratio:.2f}≤8" in printed or f"{ratio:.0f}≤8" in printed
    assert all(len(line) <= 80 for line in printed.splitlines())


@pytest.mark.parametrize(("options", "code"), [([], 0), (["--budgets"], 1)])
def test_a_missed_budget_is_told_and_fails_where_that_is_asked_for(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    code: int,
) -> None:
    """Figures are of one machine, so they are no reason to fail by themselves."""
    file = tmp_path / "results.json"
    slow = replace(row(), figures={"p50_ms": 3.0})
    file.write_bytes(encode_record(record(slow)))
    arguments = ["compare", str(file), "--baseline", str(file), *options]
    monkeypatch.setattr(sys, "argv", arguments)

    with pytest.raises(SystemExit) as ended:
        compare.main()

    assert ended.value.code == code
    printed = " ".join(capsys.readouterr().out.split())
    assert "p50_ms is 3; its budget is at most 2" in printed


def test_a_missing_baseline_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit code 2 is for what cannot be compared."""
    monkeypatch.setattr(sys, "argv", ["compare", str(tmp_path / "none.json")])

    with pytest.raises(SystemExit) as ended:
        compare.main()

    assert ended.value.code == 2
