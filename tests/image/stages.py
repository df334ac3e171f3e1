"""Run a Dockerfile's own instructions, stage by stage, without a builder."""

import shutil
from dataclasses import dataclass
from pathlib import Path
from posixpath import join, normpath

from tests.image.bare_root import BareRoot
from tests.image.dockerfile import Dockerfile, Instruction, Stage

_TELL_NOTHING_TO_DO = {"ARG", "LABEL", "EXPOSE", "HEALTHCHECK", "ENTRYPOINT", "CMD"}


@dataclass(frozen=True)
class Image:
    """The last stage, ready to be run as a container."""

    root: BareRoot
    stage: Stage

    @property
    def entrypoint(self) -> tuple[str, ...]:
        """What a container runs, before its arguments."""
        return self.stage.only("ENTRYPOINT").words

    @property
    def healthcheck(self) -> tuple[str, ...]:
        """What tells whether a container is healthy."""
        return self.stage.only("HEALTHCHECK").words


def build(dockerfile: Dockerfile, context: Path, folder: Path) -> Image:
    """Run all stages in order.

    Args:
        dockerfile: What to run.
        context: From where COPY copies; only what .dockerignore leaves in.
        folder: Empty; gets a root for each stage.
    """
    roots: dict[str, BareRoot] = {}
    for number, stage in enumerate(dockerfile.stages):
        root = roots[stage.name] = BareRoot(folder / f"{number}")
        for instruction in stage.instructions:
            if instruction.name != "COPY":
                _do(instruction, stage, root)
            elif instruction.stage:
                _copy_from_stage(instruction, roots[instruction.stage], root)
            else:
                _copy_from_context(instruction, dockerfile, context, root)
    last = dockerfile.stages[-1]
    return Image(roots[last.name], last)


def _do(instruction: Instruction, stage: Stage, root: BareRoot) -> None:
    match instruction.name:
        case "RUN":
            assert not instruction.is_shell, f"{instruction.text}: give its words"
            done = root.run(instruction.words, is_given_the_index=True)
            told = f"{instruction.text}\n{done.stdout}\n{done.stderr}"
            assert done.returncode == 0, told
        case "ENV":
            root.set(stage.values("ENV"))
        case "WORKDIR":
            root.workdir = join(root.workdir, instruction.value)
            root.inside(root.workdir).mkdir(parents=True, exist_ok=True)
        case "USER":
            root.user = instruction.value
        case other:
            assert other in _TELL_NOTHING_TO_DO, f"{other} is not known here"


def _copy_from_stage(instruction: Instruction, of: BareRoot, root: BareRoot) -> None:
    (source,) = instruction.sources
    target = root.inside(join(root.workdir, instruction.target))
    shutil.copytree(of.inside(source), target, symlinks=True, dirs_exist_ok=True)


def _copy_from_context(
    instruction: Instruction, dockerfile: Dockerfile, context: Path, root: BareRoot
) -> None:
    """Copy as a builder does: of a folder what is in it, of a file the file."""
    target = join(root.workdir, instruction.target)
    for source in instruction.sources:
        name = normpath(source)
        inside = [file for file in dockerfile.context if file.startswith(f"{name}/")]
        assert inside or name in dockerfile.context, f"{source} is not in the context"
        for file in inside:
            _put(
                context / file, root.inside(join(target, file.removeprefix(f"{name}/")))
            )
        if name in dockerfile.context:
            is_folder = instruction.target.endswith("/")
            of_file = join(target, Path(name).name) if is_folder else target
            _put(context / name, root.inside(of_file))


def _put(file: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(file, target)
