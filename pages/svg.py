"""The little of SVG that the pictures need: text stays text, and nothing is fetched."""

from collections.abc import Iterable
from typing import Final
from xml.sax.saxutils import escape, quoteattr

FONT: Final = "system-ui, sans-serif"
INK: Final = "#1b1f24"
FAINT: Final = "#6e7781"
_NAMESPACE: Final = "http://www.w3.org/2000/svg"


def box(x: float, y: float, width: float, height: float, fill: str) -> str:
    """Draw a filled rectangle; lengths are pixels, y goes down."""
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" '
        f'fill="{fill}" stroke="#ffffff"/>'
    )


def line(points: Iterable[tuple[float, float]], colour: str, dash: str = "") -> str:
    """Draw straight lines from point to point; `dash` as of ``stroke-dasharray``."""
    path = " ".join(f"{x:g},{y:g}" for x, y in points)
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return (
        f'<polyline points="{path}" fill="none" stroke="{colour}" '
        f'stroke-width="2"{dashed}/>'
    )


def words(
    x: float,
    y: float,
    text: str,
    *,
    size: int = 12,
    colour: str = INK,
    at: str = "middle",
) -> str:
    """Write one line; `at` says what x is: its ``start``, ``middle`` or ``end``."""
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="{size}" fill="{colour}" '
        f'text-anchor="{at}">{escape(text)}</text>'
    )


def picture(
    width: float, height: float, title: str, description: str, parts: Iterable[str]
) -> str:
    """Put a picture together.

    Args:
        width: Pixels.
        height: Pixels.
        title: What a reader who cannot see it hears first.
        description: What it shows, in a sentence or two.
        parts: What is drawn, from the back to the front.
    """
    size = f'viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}"'
    lines = [
        f'<svg xmlns="{_NAMESPACE}" {size} role="img" font-family={quoteattr(FONT)}>',
        f"<title>{escape(title)}</title>",
        f"<desc>{escape(description)}</desc>",
        f'<rect width="{width:g}" height="{height:g}" fill="#ffffff"/>',
        *parts,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"
