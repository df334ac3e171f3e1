"""``shadow-report`` and ``serve --shadow``: what cannot be used, and the tables."""

from typing import Any, Final

import pytest
from rich.console import Console

from extender.cli.shadow_table import print_shadow
from tests.cli.command import EXAMPLE, gpu_extender
from tests.control_plane.component import free_port

MEMORY: Final = {
    "capacity": 48_000,
    "ours": 30_000,
    "hami": 20_000,
    "needless": 5_000,
    "uncounted": 15_000,
}
USAGE: Final = {"slots": 3, "memory_mib": 26_000, "core_percent": 0}
REPORT: Final[dict[str, Any]] = {
    "since": "2026-01-01T00:00:00+00:00",
    "decisions": {"agrees": 7, "overcommits": 1, "new-in-a-later-version": 0},
    "differences": [{"at": "2026-01-02T00:00:00+00:00", "text": "over\x1b[2J: a/b"}],
    "differences_left_off": 4,
    "cards": {"count": 2, "overcommitted": 1, "memory_mib": MEMORY},
    "overcommitted_cards": [
        {"node": "n1", "device": "GPU-a", "capacity": USAGE, "ours": USAGE}
    ],
    "overcommitted_cards_left_off": 0,
    "nodes": [{"node": "n1", "overcommitted": 1, "memory_mib": MEMORY}],
    "nodes_left_off": 0,
}


def printed(report: dict[str, Any]) -> str:
    """Print it, as wide as a wide terminal."""
    console = Console(width=200, highlight=False, markup=False, emoji=False)
    with console.capture() as capture:
        print_shadow(console, report)
    return capture.get()


def test_table_has_all_of_a_report() -> None:
    """And what came from a cluster plays no tricks on the terminal."""
    text = printed(REPORT)
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert "overcommits 1 a card holds more than it has" in lines
    assert "n1 48000 30000 20000 5000 15000" in lines
    assert "2 cards, 1 hold more than they have" in lines
    assert "and 4 differences more" in lines
    assert r"over\x1b[2J: a/b" in text
    assert "\x1b" not in text


@pytest.mark.parametrize("server", ["ftp://127.0.0.1", "127.0.0.1:8080"])
def test_server_that_is_no_url(server: str) -> None:
    """Named, with what it should be."""
    outcome = gpu_extender("shadow-report", "--server", server)
    assert outcome.code == 2
    assert repr(server) in outcome.complaint


def test_server_that_does_not_answer() -> None:
    """Named, and no traceback."""
    url = f"http://127.0.0.1:{free_port()}"
    outcome = gpu_extender("shadow-report", "--server", url)
    assert outcome.code == 2
    assert url in outcome.complaint


def test_a_shadow_needs_a_live_cluster() -> None:
    """Nobody else places pods in one from files."""
    outcome = gpu_extender("serve", "--shadow", "--cluster", EXAMPLE)
    assert outcome.code == 2
    assert "--kubeconfig or --in-cluster" in outcome.complaint


def test_a_shadow_has_no_webhooks() -> None:
    """So it listens for none."""
    outcome = gpu_extender(
        *("serve", "--shadow", "--in-cluster", "--webhook-listen", "127.0.0.1:0")
    )
    assert outcome.code == 2
    assert "--webhook-listen" in outcome.complaint
