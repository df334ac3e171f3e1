"""A workload's file is read, or what is wrong with it is told by name."""

from pathlib import Path

import pytest

from benchmarks.parts import PARTS
from benchmarks.results import Limit
from benchmarks.workloads import (
    FOLDER,
    Section,
    WorkloadUnusable,
    budgets_of,
    limits_of,
)
from benchmarks.workloads import load_workload as load


def written(folder: Path, text: str) -> Section:
    """Write a workload's file and load it."""
    (folder / "http.yaml").write_text(text)
    return load("http", folder)


def read_cases(workload: Section) -> None:
    """Read cases of two keys."""
    for case in workload.sections("cases"):
        case.whole("nodes", least=1)
        case.text("verb", choices=["filter", "bind"])
        case.only("nodes", "verb")


def test_values_are_read_by_kind(tmp_path: Path) -> None:
    """Each kind of value comes back as that kind."""
    workload = written(
        tmp_path,
        """
        nodes: [100, 1000]
        seconds: 1.5
        names: [a, b]
        full: true
        budgets: {p50_ms: 2}
        cases: [{verb: filter, requests: 3}]
        """,
    )
    (case,) = workload.sections("cases")

    assert workload.wholes("nodes") == [100, 1000]
    assert workload.number("seconds") == 1.5
    assert workload.texts("names") == ["a", "b"]
    assert workload.flag("full", default=False) is True
    assert workload.numbers("budgets") == {"p50_ms": 2.0}
    assert budgets_of(workload) == {"p50_ms": Limit(most=2.0)}
    assert workload.numbers("absent") == {}
    assert case.text("verb", choices=["filter", "bind"]) == "filter"
    assert case.whole("requests", least=1) == 3
    assert case.whole("absent", default=7) == 7


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("cases: []", "http.yaml: cases is [], but must be a list of mappings"),
        ("cases: [1]", "http.yaml: cases is [1], but must be a list of mappings"),
        ("other: 1", "http.yaml: cases is missing, but must be a list"),
        ("cases: [{}]", "http.yaml: cases[0].nodes is missing, but must be a whole"),
        ("cases: [{nodes: 0}]", "http.yaml: cases[0].nodes is 0, but must be a whole"),
        ("cases: [{nodes: true}]", "cases[0].nodes is True, but must be a whole"),
        ("cases: [{nodes: 1, verb: x}]", "cases[0].verb is 'x', but must be one of"),
        ("cases: [{nodes: 1, verb: filter, pdos: 3}]", "cases[0].pdos is 3, but must"),
        ("[1]", "http.yaml is [1], but must be a mapping"),
        ("a: [", "http.yaml: while parsing"),
    ],
)
def test_a_mistake_is_told_by_file_key_and_value(
    tmp_path: Path, text: str, told: str
) -> None:
    """Whoever wrote the file finds the place from the message alone."""
    with pytest.raises(WorkloadUnusable) as caught:
        read_cases(written(tmp_path, text))

    assert told in str(caught.value)


def test_a_part_without_a_file_is_told(tmp_path: Path) -> None:
    """A missing file is named too."""
    with pytest.raises(WorkloadUnusable, match=r"none\.yaml: No such file"):
        load("none", tmp_path)


def test_limits_are_read() -> None:
    """Each ratio has a least, a most, or both."""
    limits = limits_of({"limits": {"a": {"most": 2}, "b": {"least": 1, "most": 3.5}}})

    assert limits == {"a": Limit(most=2.0), "b": Limit(least=1.0, most=3.5)}
    assert limits_of({}) == {}


@pytest.mark.parametrize(
    ("limit", "told"),
    [
        ({}, "limits.a is {}, but must be a mapping with least, most or both"),
        ({"max": 2}, "limits.a.max is 2, but must be left out; known are least, most"),
        ({"most": "2"}, "limits.a.most is '2', but must be a number"),
        (2, "limits.a is 2, but must be a mapping"),
    ],
)
def test_a_wrong_limit_is_told(limit: object, told: str) -> None:
    """A limit that says nothing, or nothing known, is refused."""
    with pytest.raises(WorkloadUnusable) as caught:
        limits_of(Section({"limits": {"a": limit}}, "http.yaml"))

    assert told in str(caught.value)


@pytest.mark.parametrize("part", PARTS)
def test_the_files_that_are_there_can_be_loaded(part: str) -> None:
    """Every part's file is a mapping, where the part is there."""
    if not (FOLDER / f"{part}.yaml").exists():
        pytest.skip(f"{part} has no workload")

    assert load(part)
