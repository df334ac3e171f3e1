"""What must be so whatever goes wrong, for minutes; `make verify` lets it go on longer.

``SOAK_MINUTES`` is how long (3.2 without it), ``SOAK_SEED`` what is drawn from; it is
printed, and can be given again. Of one seed, the same pods come and the same things go
wrong; but what meets what differs from run to run.
"""

import os
import secrets
from pathlib import Path
from typing import Final

import pytest

from tests.control_plane.binaries import Binaries, Say
from tests.control_plane.installing import install
from tests.control_plane.plane import running
from tests.control_plane.soak.soak import Plan, Soak
from tests.control_plane.soak.stream import AS_JSON

MINUTES: Final = float(os.environ.get("SOAK_MINUTES") or 3.2)
SEED: Final = int(os.environ.get("SOAK_SEED") or secrets.randbelow(10**6))


@pytest.mark.timeout(60 * (MINUTES * 2 + 15), func_only=True)
async def test_soak(control_plane_binaries: Binaries, tmp_path: Path, say: Say) -> None:
    """Nothing is over capacity, locked, lost or forgotten, and charges add up."""
    plan = Plan.of(MINUTES, SEED)
    say(f"soak: SOAK_MINUTES={MINUTES:g} SOAK_SEED={SEED}")
    with running(control_plane_binaries, tmp_path, [AS_JSON]) as plane:
        await install(plane)
        report = await Soak(plane, plan, say).run()
    say("\n".join(report.lines))
    assert not report.problems, "\n".join([f"logs: {tmp_path}", *report.problems])
