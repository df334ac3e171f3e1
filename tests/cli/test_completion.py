"""Completion, by shells and by kubectl."""

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from extender.cli.completion import SHELLS, Directive, cobra_completions
from extender.cli.main import cli, plugin
from tests.cli.command import gpu_extender


def completed(words: Sequence[str], incomplete: str) -> tuple[list[str], Directive]:
    """Complete a word of the plugin."""
    told = cobra_completions(plugin, "kubectl gpu", [*words], incomplete)
    *lines, directive = told.split("\n")
    values = [line.partition("\t")[0] for line in lines]
    return values, Directive(int(directive.removeprefix(":")))


@pytest.mark.parametrize(
    ("words", "incomplete", "values", "directive"),
    [
        ([], "expl", ["explain"], Directive.NO_FILES),
        (["explain"], "--kube", ["--kubeconfig"], Directive.NO_FILES),
        (["explain", "-o"], "", ["table", "wide", "json", "yaml"], Directive.NO_FILES),
        (["explain", "-o"], "j", ["json"], Directive.NO_FILES),
        (["explain", "-f"], "", [], Directive.FILES),
        (["doctor"], "--f", ["--fix"], Directive.NO_FILES),
        (["nothing"], "--x", [], Directive.NO_FILES),
    ],
)
def test_kubectl_gets_completions(
    words: list[str], incomplete: str, values: list[str], directive: Directive
) -> None:
    """Commands, options and values; files where a file is meant."""
    assert completed(words, incomplete) == (values, directive)


def test_every_command_is_completed() -> None:
    """None is hidden."""
    assert {*completed([], "")[0]} == {*plugin.commands}


@pytest.mark.parametrize("shell", SHELLS)
def test_script_is_printed(shell: str) -> None:
    """Whatever shells this machine has; it asks the program by its name."""
    told = gpu_extender("completion", shell)
    assert told.code == 0
    assert "gpu-extender" in told.out
    assert f"_GPU_EXTENDER_COMPLETE={shell}_complete" in told.out


def test_bash_completes(tmp_path: Path) -> None:
    """The script in a real bash."""
    bash = shutil.which("bash")
    assert bash is not None, "bash is missing"
    script = tmp_path / "completion"
    script.write_text(gpu_extender("completion", "bash").out)
    program = shutil.which("gpu-extender", path=_own_programs())
    assert program is not None, "the command is not installed beside this Python"
    asked = (
        f"source {script}; COMP_WORDS=({program} expl); COMP_CWORD=1; "
        f"_gpu_extender_completion {program}; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    )
    done = subprocess.run(
        [bash, "--norc", "-c", asked],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.stdout.split() == ["explain"]
    assert "explain" in cli.commands


def _own_programs() -> str:
    return str(Path(sys.executable).parent)
