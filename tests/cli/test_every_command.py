"""What every command does alike: a new one cannot miss any of it."""

import os
import pty
import re
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import click
import pytest
import yaml

from extender.cli.main import EXIT_INTERRUPTED, EXIT_UNREAD, cli, plugin
from tests.cli.command import EXAMPLE, PODS, ROOT, command, environment, gpu_extender

SECONDS: Final = 60
_ON_EXAMPLE: Final = ("--cluster", str(EXAMPLE))
_WHOLE: Final = str(PODS / "whole-card.yaml")

SHOWS: Final[dict[str, Sequence[str]]] = {
    "charge": ("-f", str(EXAMPLE)),
    "check-config": (str(ROOT / "config" / "device-config.yaml"),),
    "doctor": _ON_EXAMPLE,
    "explain": ("-f", _WHOLE, *_ON_EXAMPLE),
    "inspect": _ON_EXAMPLE,
    "quota": _ON_EXAMPLE,
    "replay": (str(ROOT / "tests" / "replays" / "sidecar-beside-init.json.gz"),),
    "schedule": ("-f", _WHOLE, *_ON_EXAMPLE),
    "what-if": ("-f", _WHOLE, *_ON_EXAMPLE),
}
"""Commands that show something, and how each is called on the example."""

ASKS_A_SERVER: Final = {"shadow-report"}
"""Shows what a server tells; tests/cli/test_shadow.py has one."""

DOES: Final = {"certificate", "completion", "health", "serve", "snapshot"}
"""Commands that do something, or print what is no table."""

NAMES: Final = sorted(cli.commands)


def test_every_command_is_one_of_these() -> None:
    """So that each is held to what its sort has to do."""
    assert {*cli.commands} == {*SHOWS, *ASKS_A_SERVER, *DOES}


def test_plugin_has_what_users_of_a_cluster_need() -> None:
    """The same commands, and none that is for whoever runs the extender."""
    assert {*plugin.commands} <= {*cli.commands}
    assert {*plugin.commands} & DOES == {"snapshot"}


@pytest.mark.parametrize("name", NAMES)
def test_help_has_examples_and_fits(name: str) -> None:
    """In 80 columns, with at least one line to be copied."""
    told = gpu_extender(name, "--help")
    assert told.code == 0
    assert max(map(len, told.out.splitlines())) <= 80
    assert re.search(rf"^    .*gpu-extender {name}\b", told.out, re.MULTILINE)


@pytest.mark.parametrize("name", sorted(plugin.commands))
def test_plugin_is_helped_under_its_own_name(name: str) -> None:
    """What stands there can be typed as it is."""
    context = click.Context(plugin, info_name="kubectl gpu")
    within = click.Context(plugin.commands[name], context, name)
    told = within.get_help()
    assert told.startswith(f"Usage: kubectl gpu {name} ")
    assert f"    kubectl gpu {name}" in told or f"| kubectl gpu {name}" in told
    examples = told.partition("Example")[2].partition("Options:")[0]
    assert "gpu-extender " not in examples


@pytest.mark.parametrize("name", sorted({*SHOWS, *ASKS_A_SERVER}))
def test_output_can_be_chosen(name: str) -> None:
    """By one option, the same everywhere."""
    [option] = [each for each in cli.commands[name].params if each.name == "output"]
    assert isinstance(option.type, click.Choice)
    assert list(option.type.choices) == ["table", "wide", "json", "yaml"]
    wrong = gpu_extender(name, *SHOWS.get(name, ()), "-o", "xml")
    assert wrong.code == 2
    assert wrong.complaint == "It is table, wide, json or yaml"


@pytest.mark.parametrize("name", SHOWS)
def test_yaml_says_what_json_says(name: str) -> None:
    """Value by value; but for the age of the file, which goes on."""
    found = []
    for output in ("json", "yaml"):
        printed = gpu_extender(name, *SHOWS[name], "-o", output).out
        read = yaml.safe_load(printed)
        if isinstance(read, dict) and "source" in read:
            del read["source"]["age_seconds"]
        found.append(read)
    assert found[0]
    assert found[0] == found[1]


@pytest.mark.parametrize("name", SHOWS)
def test_table_fits_and_has_no_colour(name: str) -> None:
    """Where nobody looks at a terminal."""
    printed = _run(name, *SHOWS[name], COLUMNS="80")
    assert max(map(len, printed.splitlines())) <= 80
    assert "\x1b" not in printed


@pytest.mark.parametrize("name", SHOWS)
def test_wide_leaves_nothing_out(name: str) -> None:
    """Every word of the table is there, on lines that are not folded."""
    table, wide = (_run(name, *SHOWS[name], "-o", each) for each in ("table", "wide"))
    assert _words(table) <= _words(wide) | {"more", "and", "(-o", "wide)"}
    assert "…" not in wide


def _words(text: str) -> set[str]:
    return {*text.split()}


@pytest.mark.parametrize("name", SHOWS)
def test_terminal_gets_colour_unless_it_is_not_wanted(name: str) -> None:
    """NO_COLOR counts."""
    words = command(name, *SHOWS[name])
    assert "\x1b" not in _on_terminal(words, NO_COLOR="1", TERM="dumb")


def test_colour_is_seen_on_a_terminal() -> None:
    """The test above can fail."""
    words = command("doctor", *SHOWS["doctor"])
    assert "\x1b[" in _on_terminal(words, TERM="xterm-256color")


@pytest.mark.parametrize("name", SHOWS)
@pytest.mark.parametrize("output", ["table", "json"])
def test_nobody_hears_of_a_pipe_that_was_closed(name: str, output: str) -> None:
    """As `head` does: no traceback, no complaint, and the code that shells know."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            command(name, *SHOWS[name], "-o", output),
            stdin=subprocess.DEVNULL,
            stdout=writing,
            stderr=subprocess.PIPE,
            env=environment(),
            check=False,
            timeout=SECONDS,
        )
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (EXIT_UNREAD, b"")


@pytest.fixture
def _interrupts_are_heeded() -> Iterator[None]:
    """Undo what a shell does to what it starts with ``&``."""
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, former)


@pytest.mark.usefixtures("_interrupts_are_heeded")
@pytest.mark.parametrize("name", ["explain", "charge", "schedule"])
def test_interrupt_ends_without_a_word(name: str) -> None:
    """While it waits for its input."""
    rest = () if name == "charge" else _ON_EXAMPLE
    process = subprocess.Popen(
        command(name, "-f", "-", *rest),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    with process:
        _wait_until_it_reads(process.pid)
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=SECONDS)
    assert process.returncode == EXIT_INTERRUPTED
    assert (out, errors.strip()) == (b"", b"")


def _wait_until_it_reads(process_id: int) -> None:
    """Wait until a process is within a read of its standard input, a pipe."""
    until = time.monotonic() + SECONDS
    while "pipe" not in Path(f"/proc/{process_id}/wchan").read_text():
        assert time.monotonic() < until


@pytest.mark.parametrize(
    "name", sorted({*SHOWS} - {"check-config", "charge", "replay"})
)
def test_file_that_is_missing_is_one_line(name: str, tmp_path: Path) -> None:
    """It names the file, and the code is that of input that cannot be used."""
    missing = str(tmp_path / "missing.yaml")
    words = [missing if word == str(EXAMPLE) else word for word in SHOWS[name]]
    told = gpu_extender(name, *words)
    assert told.code == 2
    assert missing in told.complaint
    assert len(told.err.splitlines()) == 1


def test_command_that_is_misspelt_is_suggested() -> None:
    """The next step is in the message."""
    assert "Did you mean 'inspect'?" in gpu_extender("inspec").complaint


def _run(name: str, *arguments: str, **added: str) -> str:
    done = subprocess.run(
        command(name, *arguments),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env={**environment(), **added},
        check=False,
        timeout=SECONDS,
    )
    assert done.stderr == ""
    return done.stdout


def _on_terminal(words: Sequence[str], **added: str) -> str:
    """Run a command on a terminal of its own, and give what it writes there."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        words,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**environment(), **added},
    )
    os.close(theirs)
    written = b""
    try:
        while part := os.read(ours, 65_536):
            written += part
    except OSError:  # Linux' way to say that the other end is closed
        pass
    finally:
        os.close(ours)
        process.wait(SECONDS)
    return written.decode()
