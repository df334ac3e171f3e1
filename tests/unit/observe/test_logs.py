"""Log lines: one each, whatever they hold; nobody waits for them; levels can change."""

import io
import json
import logging
import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from extender.core.names import DeviceUUID
from extender.core.usage import Usage
from extender.errors import SettingsError
from extender.observe.decision_log import (
    DECISIONS,
    Decision,
    FilteredNodes,
    Placed,
    PodName,
    Scores,
    is_told,
    tell,
)
from extender.observe.log_lines import LogFormat
from extender.observe.logs import (
    LEVELS,
    Decisions,
    LogLevel,
    LogSettings,
    dropped_lines,
    logging_to,
)
from extender.observe.request_ids import REQUEST_ID, request_id_of
from extender.observe.words import Verb, VerbOutcome
from tests.cli.command import violations

EVIL: Final = 'p\n2026-01-01T00:00:00.000Z INFO x: forged\r\x1b[2J\u2028\u202e"\x7f\x9b'
LOG: Final = logging.getLogger("tests.logs")


def decision(name: str = "p", *, is_refusal: bool = False) -> Decision:
    """Give an answer of bind."""
    return Decision(
        Verb.BIND,
        PodName.of("ns", name, "u"),
        VerbOutcome.REFUSED if is_refusal else VerbOutcome.BOUND,
        is_refusal=is_refusal,
        generation=3,
        duration_seconds=0.0015,
        problem=name if is_refusal else "",
        detail=Placed(name, {DeviceUUID("GPU-a"): Usage(1, 1_000, 30)}),
    )


@contextmanager
def lines_of(
    log_format: LogFormat = LogFormat.TEXT,
    level: LogLevel = LogLevel.INFO,
    decisions: Decisions = Decisions.ALL,
) -> Iterator[list[str]]:
    """Log in this block; the list is filled at its end."""
    lines: list[str] = []
    stream = io.StringIO()
    settings = LogSettings(format=log_format, level=level, decisions=decisions)
    with logging_to(stream, settings):
        yield lines
    lines += stream.getvalue().split("\n")
    assert lines.pop() == ""


@pytest.mark.parametrize("log_format", LogFormat)
def test_no_text_makes_a_second_line(log_format: LogFormat) -> None:
    """Nor moves a cursor: names come from anywhere."""
    with lines_of(log_format) as lines:
        LOG.warning("pod %s", EVIL)
        tell(decision(EVIL, is_refusal=True))
    assert len(lines) == 2
    assert log_format is LogFormat.TEXT or all(line.isascii() for line in lines)
    assert [line for line in lines if not line.isprintable()] == []


def test_text_of_a_decision() -> None:
    """Pairs; values that hold more than a name are quoted."""
    with lines_of() as lines:
        tell(decision())
    assert re.sub(r"^\S+ ", "", lines[0]) == (
        "INFO extender.decisions: verb=bind outcome=bound pod=ns/p uid=u node=p "
        'devices="GPU-a: 1 slots, 1000 MiB, 30 % of cores" generation=3 duration_ms=1.5'
    )


def test_json_of_each_decision_is_as_documented() -> None:
    """Of every kind of detail, with and without a request."""
    nodes = FilteredNodes(0, 2, 1, {"CardNotHealth": 2, "node unregistered": 1})
    filtered = Decision(
        Verb.FILTER,
        PodName.of("", EVIL, "x" * 1_000),
        VerbOutcome.FITS_NOWHERE,
        is_refusal=True,
        generation=0,
        duration_seconds=0.0,
        detail=nodes,
    )
    scored = Decision(
        Verb.PRIORITIZE,
        PodName.of("ns", "p", ""),
        VerbOutcome.SCORED,
        is_refusal=False,
        generation=0,
        duration_seconds=0.0,
        detail=Scores({0: 3, 10: 1}, "n1"),
    )
    with lines_of(LogFormat.JSON) as lines:
        token = REQUEST_ID.set("r-1")
        tell(filtered)
        REQUEST_ID.reset(token)
        tell(scored)
        tell(decision())
    shown = [json.loads(line) for line in lines]
    assert [violations("decision-log", each) for each in shown] == [[], [], []]
    assert [each.get("request_id") for each in shown] == ["r-1", None, None]
    assert shown[0]["pod"]["name"] == EVIL
    assert len(shown[0]["pod"]["uid"]) == 303
    assert shown[0]["reasons"] == {"CardNotHealth": 2, "node unregistered": 1}


@pytest.mark.parametrize("log_format", LogFormat)
def test_traceback_cannot_be_taken_for_lines(log_format: LogFormat) -> None:
    """In text, what goes on begins with a blank."""
    with lines_of(log_format) as lines:
        try:
            raise ValueError(EVIL)  # noqa: TRY301 - its trace is what is wanted
        except ValueError:
            LOG.exception("a fault")
    if log_format is LogFormat.JSON:
        (line,) = lines
        assert violations("decision-log", json.loads(line)) == []
        assert "ValueError" in json.loads(line)["exception"]
    else:
        assert [line[0] for line in lines[1:]] == [" "] * (len(lines) - 1)
        assert [line for line in lines if not line.isprintable()] == []


def test_decisions_have_a_level_of_their_own() -> None:
    """Also where nothing else is told."""
    told = {}
    for wanted in Decisions:
        with lines_of(level=LogLevel.WARNING, decisions=wanted) as lines:
            LOG.info("not told")
            tell(decision())
            tell(decision(is_refusal=True))
        told[wanted] = [line.split()[1] for line in lines]
    assert told == {
        Decisions.OFF: [],
        Decisions.REFUSED: ["WARNING"],
        Decisions.ALL: ["INFO", "WARNING"],
    }
    assert not is_told(is_refusal=True)


def test_levels_change_while_it_runs() -> None:
    """Each step is told; three lead back to where it began."""
    with lines_of() as lines:
        for _ in range(3):
            LEVELS.turn_level()
            LOG.debug("a detail")
            LEVELS.turn_decisions()
            tell(decision())
        assert (LEVELS.level, LEVELS.decisions) == (LogLevel.INFO, Decisions.ALL)
    said = [line.partition(": ")[2].partition(" outcome")[0] for line in lines]
    assert said == [
        "log level is debug from now on",
        "a detail",
        "decision log is off from now on",
        "log level is warning from now on",
        "decision log is refused from now on",
        "log level is info from now on",
        "decision log is all from now on",
        "verb=bind",
    ]


def test_decisions_go_to_a_file(tmp_path: Path) -> None:
    """And to its successor, once it was rotated."""
    file, before = tmp_path / "decisions", tmp_path / "decisions.1"
    stream = io.StringIO()
    with logging_to(stream, LogSettings(decision_file=file)):
        tell(decision("first"))
        LOG.info("elsewhere")
        while not (file.exists() and file.read_text()):
            pass
        file.rename(before)
        tell(decision("second"))
    assert "pod=ns/first" in before.read_text()
    assert "pod=ns/second" in file.read_text()
    assert stream.getvalue().endswith("elsewhere\n")
    missing = tmp_path / "missing" / "file"
    with (
        pytest.raises(SettingsError, match=r"missing/file: No such file"),
        logging_to(stream, LogSettings(decision_file=missing)),
    ):
        pass


def test_nobody_waits_for_a_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipe that nobody reads costs lines, which are counted, and no time."""
    monkeypatch.setattr("extender.observe.logs._MOST_WAITING", 100)
    monkeypatch.setattr("extender.observe.logs._PARTING_SECONDS", 0.05)
    reading, writing = os.pipe()
    before = threading.enumerate()
    with os.fdopen(writing, "w") as stream:
        with logging_to(stream, LogSettings()):
            for _ in range(2_000):
                tell(decision("x" * 200))
            assert dropped_lines() > 1_000
        # Others of before may end meanwhile.
        assert len([each for each in threading.enumerate() if each not in before]) == 1
    os.close(reading)


def test_request_ids() -> None:
    """A sane one is kept; any other is replaced by one of ours."""
    for sane in ("a", "3f2a-77_x.Y", "x" * 64):
        assert request_id_of(sane) == sane
    for text in (None, "", "x" * 65, "a b", "a\nb", "ä", "-a", 'a"'):
        made = request_id_of(text)
        assert re.fullmatch("[0-9a-f]{16}", made), text
        assert made != request_id_of(text)


def test_nothing_is_told_unless_asked() -> None:
    """Other commands decide, too."""
    assert not DECISIONS.isEnabledFor(logging.CRITICAL)
