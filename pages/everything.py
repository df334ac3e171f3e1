"""Everything in ``docs`` that is made by code."""

from pathlib import Path
from typing import Final

from pages.commands import commands_page
from pages.diagnoses import diagnoses_page
from pages.kinds import kinds_page
from pages.pictures import pictures
from pages.settings import settings_page

DOCS: Final = Path(__file__).parents[1] / "docs"


def everything() -> dict[str, str]:
    """Give each file, by its name within ``docs``, with what shall be in it."""
    return {
        "settings.md": settings_page(),
        "commands.md": commands_page(),
        "kinds.md": kinds_page(),
        "diagnoses.md": diagnoses_page(),
        **{f"pictures/{name}": text for name, text in pictures().items()},
    }
