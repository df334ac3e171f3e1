"""How pages become a site: a hook of mkdocs.

Pages are written for a git host, where ``../config/device-config.yaml`` leads to a
file. A site has only what is put into it: so every file of the project that a page
leads to is put beside the pages, and pages at the top of the project become pages.
"""

import re
from pathlib import Path, PurePosixPath
from posixpath import normpath
from typing import Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT: Final = Path(__file__).parents[1]

PAGES_AT_THE_TOP: Final = {
    "README.md": "tour.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}
"""Pages of the project outside of ``docs``, and what the site calls them."""

_FILES: Final = "files"
"""Folder of the site for files that pages lead to."""

_LINK: Final = re.compile(r"(!?)\[([^\[\]]*)\]\(([^()\s#]+)(#[^()\s]*)?\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Put in what pages lead to outside of ``docs``."""
    for name, of_site in PAGES_AT_THE_TOP.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        content = relinked(text, PurePosixPath())
        files.append(File.generated(config, of_site, content=content))
    for name in sorted(_files_led_to()):
        content_of_file = (ROOT / name).read_bytes()
        files.append(
            File.generated(config, f"{_FILES}/{name}", content=content_of_file)
        )
    return files


def on_page_markdown(
    markdown: str, page: Page, config: MkDocsConfig, files: Files
) -> str:
    """Let the links of a page in ``docs`` lead to what the site has."""
    del config, files
    if page.file.src_uri in PAGES_AT_THE_TOP.values():
        return markdown
    return relinked(markdown, PurePosixPath("docs"))


def relinked(markdown: str, folder: PurePosixPath) -> str:
    """Change the links of a page that stands in a folder of the project.

    A link to a folder, which no site can show, becomes its text.

    Example:
        >>> relinked("[a](../config/device-config.yaml)", PurePosixPath("docs"))
        '[a](files/config/device-config.yaml)'
        >>> relinked("[a](docs/quota.md#which-keys)", PurePosixPath())
        '[a](quota.md#which-keys)'
    """

    def change(link: re.Match[str]) -> str:
        mark, text, target, anchor = link.groups(default="")
        if "://" in target:
            return link[0]
        name = normpath(str(folder / target))
        if (ROOT / name).is_dir():
            return text
        return f"{mark}[{text}]({_on_the_site(name)}{anchor})"

    return _LINK.sub(change, markdown)


def _on_the_site(name: str) -> str:
    """Tell where a file of the project is on the site."""
    if name in PAGES_AT_THE_TOP:
        return PAGES_AT_THE_TOP[name]
    path = PurePosixPath(name)
    if path.parts[0] == "docs":
        return str(path.relative_to("docs"))
    return f"{_FILES}/{name}"


def _files_led_to() -> set[str]:
    """Find the files outside of ``docs`` that pages lead to."""
    found = set()
    at_the_top = [(ROOT / name, PurePosixPath()) for name in PAGES_AT_THE_TOP]
    in_docs = [(page, PurePosixPath("docs")) for page in ROOT.glob("docs/*.md")]
    for page, folder in [*at_the_top, *in_docs]:
        for link in _LINK.finditer(page.read_text(encoding="utf-8")):
            name = normpath(str(folder / link[3]))
            is_page = name.startswith("docs/") or name in PAGES_AT_THE_TOP
            if "://" not in link[3] and not is_page and (ROOT / name).is_file():
                found.add(name)
    return found
