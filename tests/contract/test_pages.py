"""What of the documentation is made by code is what the code makes today."""

import re
from pathlib import Path
from typing import Final

import click
import pytest

from extender.cli.main import cli
from extender.core.kinds import Kind
from pages.everything import DOCS, everything
from pages.pictures import FOUR_PODS, life
from pages.settings import options_of_settings
from tests.shipped import SHIPPED

ROOT: Final = Path(__file__).parents[2]
MADE: Final = everything()

NAME: Final = re.compile(r'(?:_ANNOTATION|_LABEL): Final = "([^"]+/[^"]+)"')


@pytest.mark.parametrize("name", MADE)
def test_committed_is_what_the_code_makes(name: str) -> None:
    """``make docs-reference`` was run after the last change."""
    committed = (DOCS / name).read_text(encoding="utf-8")

    assert MADE[name] == committed, "run `make docs-reference`, and read the difference"


def test_every_option_has_its_setting() -> None:
    """docs/settings.md says of each option of ``serve`` which setting it gives."""
    serve = cli.commands["serve"]
    options = {
        option
        for parameter in serve.params
        if isinstance(parameter, click.Option)
        for option in parameter.opts
    }
    cluster = {"--cluster", "--kubeconfig", "--in-cluster"}

    assert options - cluster == options_of_settings()


def test_every_name_of_a_kind_is_told() -> None:
    """docs/kinds.md has each resource, annotation and label of each shipped kind."""
    page = MADE["kinds.md"]
    names = {
        name
        for kind in SHIPPED.values()
        for name in (*kind.resources, *annotations(kind))
    }

    assert names == {name for name in names if f"`{name}`" in page}


def annotations(kind: Kind) -> set[str]:
    """Give every text of a kind that looks like the name of an annotation."""
    texts = [getattr(kind, field) for field in Kind.__slots__]
    return {text for text in texts if isinstance(text, str) and "/" in text}


def test_every_name_of_any_kind_is_told() -> None:
    """docs/kinds.md has each annotation and label that the code names on its own."""
    sources = [path.read_text() for path in ROOT.glob("extender/**/*.py")]
    names = {name for source in sources for name in NAME.findall(source)}
    page = MADE["kinds.md"]

    assert names - {LEASES} == {name for name in names if f"`{name}`" in page}


LEASES: Final = "gpu-extender/quota-lease"
"""A label of leases; see docs/quota.md."""


def test_pictures_show_the_pods_of_the_readme() -> None:
    """README.md's table has the same pods, in the same order, with the same charges."""
    rows = re.findall(
        r"^\| ([a-z0-9, ]+) \| [0-9+, then]+ \| \*\*(\d+)\*\*",
        (ROOT / "README.md").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    drawn = [
        (
            ", ".join(f"{container.name} {container.gib}" for container in pod),
            str(next(life(pod)).charged),
        )
        for pod in FOUR_PODS
    ]

    assert rows == drawn


@pytest.mark.parametrize("name", [name for name in MADE if name.endswith(".svg")])
def test_pictures_can_be_read_and_fetch_nothing(name: str) -> None:
    """Their text is text, they say what they show, and ask for nothing elsewhere."""
    picture = MADE[name].replace('xmlns="http://www.w3.org/2000/svg"', "")

    assert "<text " in picture
    assert "<title>" in picture
    assert "<desc>" in picture
    assert "http" not in picture
