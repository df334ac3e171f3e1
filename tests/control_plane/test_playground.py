"""What `make playground` starts, prints and ends, as a user meets it."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest
import yaml

from playground.announcement import CHARGE_METRIC
from tests.builders import Json
from tests.control_plane.binaries import Binaries, Say, built_kwok

_TOP: Final = Path(__file__).parents[2]
_PENDING: Final = _TOP / "playground" / "pods" / "pending"
_SECONDS: Final = 60.0
_POLL_SECONDS: Final = 0.2
_CHARGED_BYTES: Final = 20_480.0 * 1024 * 1024


@pytest.fixture(scope="module", autouse=True)
def _programs(control_plane_binaries: Binaries, say: Say) -> None:
    """Build what takes minutes before the time of a test counts."""
    built_kwok(say)


class Shell:
    """A second terminal in which the printed lines are typed."""

    def __init__(self, lines: list[str]) -> None:
        self.exports = [line for line in lines if line.startswith("export ")]
        self.commands = [
            line for line in lines if re.match(r"(kubectl|curl|gpu-extender) ", line)
        ]

    def run(self, command: str) -> tuple[int, str]:
        """Type a line; give its exit code and what it prints."""
        script = "\n".join([*self.exports, "export no_proxy=127.0.0.1", command])
        typed = subprocess.run(
            ["sh", "-c", script],
            cwd=_TOP,
            env={
                name: each for name, each in os.environ.items() if name != "KUBECONFIG"
            },
            capture_output=True,
            text=True,
            check=False,
            timeout=_SECONDS,
        )
        return typed.returncode, typed.stdout + typed.stderr

    def the(self, beginning: str, code: int = 0) -> str:
        """Run the only printed command that begins so; it must end with that code."""
        (command,) = (line for line in self.commands if line.startswith(beginning))
        got, said = self.run(command)
        assert got == code, f"{command}: {said}"
        return said

    def pods(self, namespace: str) -> dict[str, Json]:
        """Read the pods of a namespace, by name."""
        code, said = self.run(f"kubectl get pods -n {namespace} -o json")
        assert code == 0, said
        return {each["metadata"]["name"]: each for each in json.loads(said)["items"]}

    def charge_bytes(self) -> float:
        """Read the figure of the metric that shows what the sidecar pod is charged."""
        for line in self.the("curl ").splitlines():
            if line.startswith(CHARGE_METRIC):
                return float(line.rpartition(" ")[2])
        return 0.0


@contextmanager
def _started(folder: Path) -> Iterator[tuple["subprocess.Popen[str]", Shell]]:
    with subprocess.Popen(
        [sys.executable, "-m", "playground", "--folder", str(folder)],
        cwd=_TOP,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as running:
        try:
            lines: list[str] = []
            for line in running.stdout or ():
                lines.append(line.strip())
                if "Ctrl-C" in line:
                    break
            assert running.poll() is None, lines
            yield running, Shell(lines)
        finally:
            running.terminate()


def _until(claim: Callable[[], bool], wanted: str) -> None:
    deadline = time.monotonic() + _SECONDS
    while not claim():
        assert time.monotonic() < deadline, f"not within {_SECONDS} s: {wanted}"
        time.sleep(_POLL_SECONDS)


def _assert_nothing_left(folder: Path) -> None:
    assert [each for each in folder.iterdir() if each.suffix != ".log"] == []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        assert f"{folder}/" not in words, words.split("\0")


def test_a_user_tries_what_is_printed(tmp_path: Path) -> None:
    """Each printed command does what is said of it, and Ctrl-C leaves only logs."""
    folder = tmp_path / "playground"
    with _started(folder) as (running, shell):
        before = shell.charge_bytes()
        shell.the("kubectl apply -f config/pods/sidecar-and-app.yaml")
        _until(
            lambda: shell.charge_bytes() == before + _CHARGED_BYTES,
            "the metric shows the charge of the sidecar pod",
        )
        _until(lambda: _runs(shell, "sidecar-and-app"), "the sidecar pod runs")
        charged = shell.the("kubectl get pods -A -o json | gpu-extender charge")
        assert "inference/sidecar-and-app on gpu-a10-01" in charged

        in_turn = [("running", "waiting"), ("terminated", "running")]
        assert _init_states(shell) in in_turn

        shell.the("kubectl apply -f playground/pods/pending/")
        _assert_pending_for_what_is_said(shell)
        assert "CardInsufficientMemory" in shell.the("gpu-extender explain", code=1)

        # The first sleeps for 15 s, the second for 60.
        _until(lambda: _init_states(shell) == in_turn[1], "the second init runs")

        said = shell.the("kubectl apply -f playground/pods/over-quota.yaml", code=1)
        assert "exceeding resource quota" in said

        running.send_signal(signal.SIGINT)
        time.sleep(_POLL_SECONDS)
        running.send_signal(signal.SIGINT)
        assert running.wait(timeout=_SECONDS) == 0
    _assert_nothing_left(folder)


def _runs(shell: Shell, name: str) -> bool:
    return bool(shell.pods("inference")[name]["status"]["phase"] == "Running")


def _init_states(shell: Shell) -> tuple[str, ...]:
    """Tell what the two inits of bert-finetune are at; its app must wait for them."""
    (tuning,) = (pod for name, pod in shell.pods("training").items() if "bert" in name)
    (train,) = tuning["status"]["containerStatuses"]
    assert "waiting" in train["state"]
    statuses = tuning["status"]["initContainerStatuses"]
    return tuple(next(iter(each["state"])) for each in statuses)


def _assert_pending_for_what_is_said(shell: Shell) -> None:
    """Hold each pod's event against the codes in the first line of its file."""
    expected: dict[str, list[str]] = {}
    for file in sorted(_PENDING.glob("*.yaml")):
        text = file.read_text()
        pod = list(yaml.safe_load_all(text))[-1]
        sentence = text.rpartition("---\n")[2].partition(":")[0].removeprefix("# ")
        expected[pod["metadata"]["name"]] = sentence.split(" and ")
    assert len(expected) == 10
    # Its first bind waits for the lock for 20 s before there is an event.
    del expected["waits-for-the-lock"]

    def all_said() -> bool:
        said = shell.the("kubectl get events -A")
        return all(
            any(f"pod/{name} " in line and code in line for line in said.splitlines())
            for name, codes in expected.items()
            for code in codes
        )

    _until(all_said, f"events of {expected}")
    _, lock = shell.run("kubectl get node gpu-t4-03 -o yaml | grep hami.io/mutex.lock:")
    assert lock.strip().endswith(",pending,holds-the-lock")


@pytest.mark.verify
def test_what_dies_by_itself_is_named(tmp_path: Path) -> None:
    """With its log; everything else is ended, and the exit code is 1."""
    folder = tmp_path / "playground"
    with _started(folder) as (running, _):
        (kwok,) = (
            int(process.name)
            for process in Path("/proc").glob("[0-9]*")
            if f"{folder}/kwok.yaml" in (process / "cmdline").read_text()
            and "leash.py" not in (process / "cmdline").read_text()
        )
        os.kill(kwok, signal.SIGKILL)
        said = running.stdout.read() if running.stdout else ""
        assert running.wait(timeout=_SECONDS) == 1
    assert f"kwok ended by itself; its log, {folder}/kwok.log" in said
    _assert_nothing_left(folder)
