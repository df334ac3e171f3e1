"""The pages say what the code does: names, routes, links, commands and their output.

In a ``console`` block, each line that begins with ``$`` is a command, and what follows
is its output. The commands of a page run in order, beside a fresh server on the example
cluster; a line ``...`` stands for any lines. ``make run`` is not run: its output is
what that server printed.

To write the outputs anew: ``python -m tests.contract.test_docs``.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import click
import pytest

from extender.cli.main import cli
from extender.core.kinds import NVIDIA, RequestRule
from extender.core.reasons import Reason
from extender.runtime import embed
from extender.settings import HttpSettings, Settings
from extender.web.app import build_app
from extender.wire.device_policies import (
    DEVICE_POLICY_ANNOTATION,
    EXCLUSIVE_ANNOTATION,
    WEIGHTS_ANNOTATION,
)
from extender.wire.nodes import CORDON_ANNOTATION
from extender.wire.pod_settings import (
    NODE_POLICY_ANNOTATION,
    RELEASE_ANNOTATION,
)
from tests.shipped import SHIPPED

ROOT: Final = Path(__file__).parents[2]
DOCS: Final = ROOT / "docs"
CLUSTER: Final = ROOT / "config" / "example-cluster.yaml"
PAGES: Final = (
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted(DOCS.glob("*.md")),
)

DOCUMENTED_PORT: Final = "127.0.0.1:8080"
LAST_LINE_AT_START: Final = "Ctrl-C stops"

BLOCK: Final = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ANY_BLOCK: Final = re.compile(r"^ *```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
TAGS: Final = {"console", "json", "mermaid", "python", "sh", "text", "yaml"}
TYPED: Final = re.compile(
    r"^ *(\$ |curl |docker |gpu-extender |helm |kubectl |make |\.venv/bin/)",
    re.MULTILINE,
).search
INLINE: Final = re.compile(r"`(gpu-extender [^`]*)`")
LINK: Final = re.compile(r"\]\(([^()\s]+)\)")
HEADING: Final = re.compile(r"^#+ (.*)$", re.MULTILINE)
FIRST_CELL: Final = re.compile(r"^\| `([^`]+)` \|", re.MULTILINE)


@dataclass(frozen=True)
class Step:
    """One command of a page, and the output that the page shows."""

    command: str
    shown: str


def steps_in(block: str) -> Iterator[Step]:
    """Split a ``console`` block into its commands; a here-document is part of one."""
    lines = block.splitlines()
    while lines:
        command = [lines.pop(0).removeprefix("$ ")]
        if here := re.search(r"<<'(\w+)'$", command[0]):
            end = lines.index(here[1]) + 1
            command += lines[:end]
            del lines[:end]
        size = next(
            (at for at, line in enumerate(lines) if line.startswith("$ ")), len(lines)
        )
        yield Step("\n".join(command), "\n".join(lines[:size]))
        del lines[:size]


def console_blocks(page: Path) -> list[str]:
    """List the blocks whose commands are run."""
    blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
    return [text for language, text in blocks if language == "console"]


def run_page(page: Path, scratch: Path) -> Iterator[tuple[Step, str]]:
    """Run the commands of a page in order; give each with what it printed."""
    with served() as (address, announced):
        for block in console_blocks(page):
            for step in steps_in(block):
                if step.command == "make run":
                    printed = announced
                else:
                    printed = run(step.command, address, scratch)
                yield step, printed.replace(address, DOCUMENTED_PORT)


def run(command: str, address: str, scratch: Path) -> str:
    """Run one command as a reader would, and give what a terminal would show."""
    here = command.replace(DOCUMENTED_PORT, address).replace("/tmp/", f"{scratch}/")
    done = subprocess.run(
        ["/bin/sh", "-c", here.replace(".venv/bin/", "")],
        cwd=ROOT,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=60,
    )
    return "\n".join(line.rstrip() for line in done.stdout.splitlines())


def environment() -> dict[str, str]:
    """Give commands a terminal of 100 columns, and this Python's commands first."""
    paths = [str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]
    return {"PATH": os.pathsep.join(paths), "COLUMNS": "100", "PYTHONUTF8": "1"}


@contextmanager
def served() -> Iterator[tuple[str, str]]:
    """Serve the example cluster; give the address, and what it printed at start."""
    command = [sys.executable, "-m", "extender", "serve", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(
        [*command, "--cluster", str(CLUSTER)],
        cwd=ROOT,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            lines: list[str] = []
            for line in process.stdout:
                lines.append(line.rstrip())
                if LAST_LINE_AT_START in line:
                    break
            announced = "\n".join(lines)
            found = re.search(r"http://(\S+):(\d+)", announced)
            assert found is not None, f"the server did not start: {announced}"
            yield f"{found[1]}:{found[2]}", announced
        finally:
            process.terminate()


def as_pattern(shown: str) -> str:
    """Turn shown output into a pattern: ``...`` on a line of its own is any lines."""
    lines = [
        r"(?:.*\n)*?" if line == "..." else f"{re.escape(line.rstrip())}\n"
        for line in shown.splitlines()
    ]
    return "".join(lines)


def slug(heading: str) -> str:
    """Give the anchor that a heading gets."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def commands() -> list[tuple[str, str]]:
    """List every ``gpu-extender ...`` that a page shows, as page and command."""
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        blocks = "\n".join(block for _, block in BLOCK.findall(text))
        joined = blocks.replace("\\\n", " ")
        in_blocks = re.findall(r"(?m)(?:^|[ /])(gpu-extender [^|>\n]*)", joined)
        found += [(page.name, each.strip()) for each in in_blocks]
        # Between backticks a command alone is a mention, not something to type.
        inline = [each for each in INLINE.findall(text) if len(each.split()) > 2]
        found += [(page.name, each) for each in inline]
    return found


def usage_problem(command: str) -> str | None:
    """Tell what the command line would complain of; None where it would run."""
    _, *arguments = shlex.split(command)
    context = click.Context(cli, **cli.context_settings)
    try:
        if arguments[0].startswith("-"):
            cli.make_context("gpu-extender", arguments)
        else:
            name, known, rest = cli.resolve_command(context, arguments)
            assert known is not None
            known.make_context(name, rest, parent=context)
    except click.exceptions.Exit:  # --help
        return None
    except click.UsageError as error:
        return error.format_message()
    return None


def test_every_reason_has_its_line() -> None:
    """docs/reasons.md explains every reason code, in the order of the rules."""
    page = (DOCS / "reasons.md").read_text(encoding="utf-8")

    assert [reason.value for reason in Reason] == FIRST_CELL.findall(page)


def test_every_route_has_its_line() -> None:
    """docs/http.md lists the routes that are served, and no other."""
    embedded = embed([CLUSTER], Settings())
    app = build_app(embedded.extender, HttpSettings(), embedded.cluster)
    routes = {
        f"{route.method} {route.resource.canonical}"
        for route in app.router.routes()
        if route.resource is not None and route.method != "HEAD"
    }
    page = (DOCS / "http.md").read_text(encoding="utf-8")
    shown = [cell for cell in FIRST_CELL.findall(page) if re.match("[A-Z]+ /", cell)]

    assert sorted(routes) == sorted(shown)


def test_every_name_is_explained() -> None:
    """docs/requests.md names every resource and annotation that is read or written."""
    names = {
        NVIDIA.count_resource,
        NVIDIA.memory_resource,
        NVIDIA.memory_percentage_resource,
        NVIDIA.core_resource,
        NVIDIA.register_annotation,
        NVIDIA.to_allocate_annotation,
        NVIDIA.allocated_annotation,
        NVIDIA.use_type_annotation,
        NVIDIA.avoid_type_annotation,
        NVIDIA.use_uuid_annotation,
        NVIDIA.avoid_uuid_annotation,
        NVIDIA.numa_bind_annotation,
        NVIDIA.mode_annotation,
        WEIGHTS_ANNOTATION,
        CORDON_ANNOTATION,
        DEVICE_POLICY_ANNOTATION,
        NODE_POLICY_ANNOTATION,
        RELEASE_ANNOTATION,
        EXCLUSIVE_ANNOTATION,
    }
    page = (DOCS / "requests.md").read_text(encoding="utf-8")

    assert names == {name for name in names if f"`{name}`" in page}


def test_every_vendor_is_explained() -> None:
    """docs/vendors.md has every rule, and every name but those of chips like others."""
    one_of_each = [
        kind
        for word, kind in SHIPPED.items()
        if word in {"MR-V100", "Ascend910B4"}
        or not word.startswith(("MR-", "BI-", "Ascend"))
    ]
    names = {name for kind in one_of_each for name in kind.resources}
    names |= {rule.value for rule in RequestRule}
    names |= {
        name
        for kind in one_of_each
        if kind.type_word != NVIDIA.type_word
        for name in (
            kind.use_uuid_annotation,
            kind.avoid_uuid_annotation,
            kind.use_type_annotation,
            kind.avoid_type_annotation,
            kind.qos_annotation,
            kind.app_class_annotation,
            kind.topology_annotation,
        )
        if name is not None
    }
    page = (DOCS / "vendors.md").read_text(encoding="utf-8")

    assert names == {name for name in names if f"`{name}`" in page}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    """Every link between pages names a file that is there, and a heading in it."""
    broken = []
    for link in LINK.findall(page.read_text(encoding="utf-8")):
        target, _, anchor = link.partition("#")
        if "://" in target:
            continue
        file = (page.parent / target).resolve() if target else page
        if not file.exists() or not file.is_relative_to(ROOT):
            broken.append(link)
        elif anchor:
            headings = HEADING.findall(file.read_text(encoding="utf-8"))
            if anchor not in map(slug, headings):
                broken.append(link)

    assert broken == []


def test_every_page_is_in_the_index() -> None:
    """docs/README.md leads to every page beside it."""
    links = LINK.findall((DOCS / "README.md").read_text(encoding="utf-8"))
    pages = {page.name for page in DOCS.glob("*.md")} - {"README.md"}

    assert pages == pages & set(links)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_stand_where_they_are_run(page: Path) -> None:
    """Blocks are tagged by what they hold, so that no command hides from the tests.

    ``console`` blocks are run here, ``sh`` blocks by
    tests/control_plane/test_page_commands.py.
    """
    blocks = ANY_BLOCK.findall(page.read_text(encoding="utf-8"))
    untagged = [text for tag, text in blocks if tag not in TAGS]
    hidden = [
        text for tag, text in blocks if tag not in {"sh", "console"} and TYPED(text)
    ]

    assert untagged == []
    assert hidden == []


@pytest.mark.parametrize(("page", "command"), commands())
def test_command_can_be_typed(page: str, command: str) -> None:
    """Every command that a page shows has its subcommand and its options."""
    assert usage_problem(command) is None, page


@pytest.mark.parametrize(
    "page", [page for page in PAGES if console_blocks(page)], ids=lambda page: page.name
)
def test_commands_print_what_the_page_shows(page: Path, tmp_path: Path) -> None:
    """A reader who types the commands of a page sees the output that it shows."""
    if shutil.which("curl") is None:
        pytest.fail("curl is missing: the commands of the pages are run with it")
    for step, printed in run_page(page, tmp_path):
        text = f"{printed}\n" if printed else ""
        matches = re.fullmatch(as_pattern(step.shown), text)
        assert matches, f"$ {step.command}\n{printed}\n\nthe page shows:\n{step.shown}"


def write_outputs_anew(page: Path, scratch: Path) -> None:
    """Put what its commands print today into a page; shortened outputs are kept."""
    text = page.read_text(encoding="utf-8")
    printed = iter(list(run_page(page, scratch)))
    for block in console_blocks(page):
        parts = []
        for _ in steps_in(block):
            step, output = next(printed)
            shown = step.shown if "..." in step.shown.splitlines() else output
            parts += [f"$ {step.command}", *([shown] if shown else [])]
        fresh = "\n".join(parts)
        text = text.replace(f"```console\n{block}```", f"```console\n{fresh}\n```")
    page.write_text(text, encoding="utf-8")


def main() -> None:
    """Write the outputs of all pages anew."""
    with TemporaryDirectory() as scratch:
        for page in PAGES:
            if console_blocks(page):
                write_outputs_anew(page, Path(scratch))


if __name__ == "__main__":
    main()
