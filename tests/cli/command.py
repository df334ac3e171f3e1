"""gpu-extender, run in this process or in one of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

from extender.cli import main
from tests.builders import Json, NodeBuilder, PodBuilder

ROOT: Final = Path(__file__).parents[2]
EXAMPLE: Final = ROOT / "config" / "example-cluster.yaml"
PODS: Final = ROOT / "config" / "pods"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a person or a script sees of a command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:  # noqa: ANN401 - JSON is anything
        """Standard output, which must be one JSON value."""
        return json.loads(self.out)

    @property
    def complaint(self) -> str:
        """Give the one thing that a command says when its input cannot be used.

        Click puts the usage before it; nothing of ours ever shows a traceback.
        """
        assert "Traceback" not in self.err
        assert self.out == ""
        return self.err.strip().splitlines()[-1]


def gpu_extender(*arguments: str | Path, stdin: str | bytes = b"") -> Outcome:
    """Run the command in this process; an error that is not ours fails the test."""
    with CliRunner().isolation(stdin) as (out, err, _), _argv(arguments):
        code = _exit_code()
        return Outcome(code, out.getvalue().decode(), err.getvalue().decode())


def _exit_code() -> int:
    with pytest.raises(SystemExit) as stop:
        main()
    code = stop.value.code
    assert isinstance(code, int)
    return code


@contextmanager
def _argv(arguments: tuple[str | Path, ...]) -> Iterator[None]:
    before = sys.argv
    sys.argv = ["gpu-extender", *map(str, arguments)]
    try:
        yield
    finally:
        sys.argv = before


def command(*arguments: str | Path) -> list[str]:
    """Give the real command, as installed beside this Python."""
    return [str(Path(sys.executable).with_name("gpu-extender")), *map(str, arguments)]


def environment(**extra: str) -> dict[str, str]:
    """Give a plain environment: nothing that widens or colours the output."""
    unwanted = (
        "COLUMNS",
        "FORCE_COLOR",
        "NO_COLOR",
        "TTY_COMPATIBLE",
        "CLICOLOR_FORCE",
    )
    plain = {name: text for name, text in os.environ.items() if name not in unwanted}
    return {**plain, **extra}


def subprocess_of(
    *arguments: str | Path, stdin: bytes = b"", environ: Mapping[str, str] | None = None
) -> Outcome:
    """Run the real command, piped."""
    done = subprocess.run(
        command(*arguments),
        input=stdin,
        capture_output=True,
        check=False,
        timeout=30,
        env=environment() if environ is None else environ,
    )
    return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())


def listed(*shown: NodeBuilder | PodBuilder | Json) -> str:
    """Print objects as kubectl prints several."""
    items = [each if isinstance(each, dict) else each.build() for each in shown]
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items})


@cache
def schema(name: str) -> Draft202012Validator:
    """Give a validator of ``docs/<name>.schema.json``."""
    return Draft202012Validator(
        json.loads((ROOT / "docs" / f"{name}.schema.json").read_bytes())
    )


def violations(name: str, instance: object) -> list[str]:
    """List what in an output is not as its documented schema says."""
    return [
        f"{error.json_path}: {error.message}"
        for error in schema(name).iter_errors(instance)
    ]
