"""Takes the pictures of the status page for its documentation.

``python -m tests.browser.pictures`` writes them; they show the example cluster.
"""

import asyncio
import json
import sys
import tempfile
from pathlib import Path
from typing import Final

import aiohttp

from extender.runtime import embed
from extender.settings import HttpSettings, Part, Settings
from extender.web.listening import served
from tests.browser.chromium import Tab, tab
from tests.builders import pod
from tests.cli.command import EXAMPLE
from tests.web.scheduler import arguments

FOLDER: Final = Path(__file__).parents[2] / "docs" / "pictures"
WAITS: Final = pod("too-large", "research").app("jupyter", gpu=1, gpumem=98_304)


async def take(folder: Path) -> None:
    """Write one picture of each colour scheme."""
    embedded = embed([EXAMPLE], Settings())
    http = HttpSettings(port=0)
    async with served(embedded.extender, http, embedded.cluster) as doors:
        url = doors.urls[Part.METRICS]
        asked = arguments(WAITS, list(embedded.cluster.nodes), None)
        async with aiohttp.ClientSession() as session:
            for path, body in (("/pods", WAITS.build()), ("/filter", asked)):
                async with session.post(url + path, data=json.dumps(body)) as answer:
                    answer.raise_for_status()
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
            async with tab(Path(profile)) as page:
                for scheme in ("light", "dark"):
                    picture = await _taken(page, f"{url}/ui", scheme)
                    (folder / f"status-page-{scheme}.png").write_bytes(picture)


async def _taken(page: Tab, url: str, scheme: str) -> bytes:
    await page.call(
        "Emulation.setDeviceMetricsOverride",
        width=1280,
        height=900,
        deviceScaleFactor=1,
        mobile=False,
    )
    await page.prefer(prefers_color_scheme=scheme, prefers_reduced_motion="reduce")
    await page.open(url)
    await page.until("document.getElementById('state').textContent === 'live'")
    await page.evaluate("document.getElementById('nodes').focus()")
    for key in ("ArrowDown", "ArrowRight"):
        await page.press(key)
    await page.until("!!document.querySelector('#details-body tbody button')")
    await page.evaluate("document.querySelector('#details-body tbody button').click()")
    await page.until("document.querySelectorAll('svg .phase').length === 2")
    return await page.picture()


if __name__ == "__main__":
    asyncio.run(take(FOLDER))
    sys.stdout.write(f"wrote {FOLDER.name}/status-page-light.png and -dark.png\n")
