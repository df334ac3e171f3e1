"""The documentation as a site: whole, and asking for nothing from elsewhere."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
FETCHED: Final = re.compile(
    r"<(?:script|img|iframe|source)\b[^>]*\bsrc=[\"']?(?:https?:)?//[^>]*"
    r"|<link\b[^>]*\bhref=[\"']?(?:https?:)?//[^>]*"
    r"|@import[^;]*//[^;]*|url\([\"']?(?:https?:)?//[^)]*"
)


def build(project: Path, site: Path) -> "subprocess.CompletedProcess[str]":
    """Build the site as `make docs` does."""
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(site)],
        cwd=project,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(project)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site of the committed pages."""
    folder = tmp_path_factory.mktemp("site")
    done = build(ROOT, folder)
    assert done.returncode == 0, done.stderr
    return folder


def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    """No font, script, style or picture comes from another host."""
    files = [file for kind in ("html", "css") for file in site.rglob(f"*.{kind}")]
    found = {hit for file in files for hit in FETCHED.findall(file.read_text("utf-8"))}

    assert files
    assert found == set()


def test_search_knows_every_page(site: Path) -> None:
    """Each page can be found by its words, without a server."""
    index = (site / "search" / "search_index.json").read_text(encoding="utf-8")
    pages = {page.stem for page in (ROOT / "docs").glob("*.md")} - {"README"}

    assert pages == {page for page in pages if f'"location":"{page}.html' in index}


def test_what_pages_lead_to_is_there(site: Path) -> None:
    """Files of the project that pages show are part of the site, as they are."""
    name = "config/device-config.yaml"

    assert (site / "files" / name).read_bytes() == (ROOT / name).read_bytes()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        pytest.param("[a](nowhere.md)", "nowhere.md", id="page"),
        pytest.param("[a](quota.md#nowhere)", "#nowhere", id="heading"),
        pytest.param("[a](../config/nowhere.yaml)", "nowhere.yaml", id="file"),
    ],
)
def test_broken_link_fails(change: str, told: str, tmp_path: Path) -> None:
    """A warning of the build is an error."""
    for name in ("docs", "pages", "config", "manifests"):
        shutil.copytree(ROOT / name, tmp_path / name)
    for file in (
        "mkdocs.yml",
        "README.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        "LICENSE",
    ):
        shutil.copy(ROOT / file, tmp_path)
    with (tmp_path / "docs" / "quota.md").open("a") as page:
        page.write(f"\n{change}\n")

    done = build(tmp_path, tmp_path / "site")

    assert done.returncode != 0
    assert told in done.stderr
