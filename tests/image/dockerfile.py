"""What BuildKit reads in the Dockerfile, as typed values."""

import json
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Instruction:
    """One instruction of a stage; what it has not is empty.

    Attributes:
        name: In upper case.
        text: As it is written, on one line.
        words: Of RUN, ENTRYPOINT, CMD and HEALTHCHECK.
        is_shell: Whether a shell reads `words`, which are one text then.
        pairs: Of ENV, LABEL and ARG; variables in them are not replaced.
        sources: Of COPY.
        target: Of COPY.
        stage: From which COPY copies; empty for the context.
        value: Of USER and WORKDIR.
    """

    name: str
    text: str
    words: tuple[str, ...]
    is_shell: bool
    pairs: Mapping[str, str]
    sources: tuple[str, ...]
    target: str
    stage: str
    value: str


@dataclass(frozen=True)
class Stage:
    """One ``FROM`` and what follows."""

    name: str
    base: str
    instructions: tuple[Instruction, ...]

    def all(self, name: str) -> list[Instruction]:
        """Give the instructions of a name, in order."""
        return [each for each in self.instructions if each.name == name]

    def only(self, name: str) -> Instruction:
        """Give the one instruction of a name."""
        (one,) = self.all(name)
        return one

    def values(self, name: str) -> dict[str, str]:
        """Give all ENV or LABEL of the stage, with the defaults of ARG put in."""
        known: dict[str, str] = {}
        for argument in self.all("ARG"):
            known |= argument.pairs
        given: dict[str, str] = {}
        for each in self.all(name):
            given |= {key: replaced(text, known) for key, text in each.pairs.items()}
        return given


@dataclass(frozen=True)
class Dockerfile:
    """All of it, what the linter says, and the files that the builder is sent."""

    warnings: tuple[str, ...]
    arguments: Mapping[str, str]
    stages: tuple[Stage, ...]
    context: frozenset[str]


def read(command: Path, folder: Path) -> Dockerfile:
    """Read the Dockerfile and .dockerignore of a folder.

    Args:
        command: As `tests.control_plane.binaries.built_dockerfile` gives it.
        folder: The context.
    """
    done = subprocess.run(
        [command, folder], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    return Dockerfile(
        warnings=tuple(told["warnings"]),
        arguments=_pairs(told["args"]),
        stages=tuple(_stage(each) for each in told["stages"]),
        context=frozenset(told["context"]),
    )


def replaced(text: str, known: Mapping[str, str]) -> str:
    """Take quotes away, and put known variables in; others stay.

    Example:
        >>> replaced('"${A}:${B}"', {"A": "1"})
        '1:${B}'
    """
    return re.sub(
        r"\$\{(\w+)\}", lambda each: known.get(each[1], each[0]), text.strip('"')
    )


def _stage(told: Any) -> Stage:  # noqa: ANN401 - JSON is anything
    instructions = tuple(
        Instruction(
            name=each["name"],
            text=each["text"],
            words=tuple(each.get("words", ())),
            is_shell=each.get("shell", False),
            pairs=_pairs(each.get("pairs")),
            sources=tuple(each.get("sources", ())),
            target=each.get("target", ""),
            stage=each.get("from", ""),
            value=each.get("value", ""),
        )
        for each in told["instructions"]
    )
    return Stage(told["name"], told["base"], instructions)


def _pairs(told: list[list[str]] | None) -> dict[str, str]:
    return {key: value.strip('"') for key, value in told or ()}
