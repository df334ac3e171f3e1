"""What every test of the page does."""

from typing import Any

import aiohttp

from tests.browser.chromium import Tab
from tests.browser.scripts import LIVE


async def opened(browser: Tab, url: str) -> None:
    """Go to the page, and wait until it is live; it breaks no rule at any time."""
    await browser.prefer(prefers_reduced_motion="reduce")
    await browser.open(f"{url}/ui")
    await browser.until(LIVE)


def check_quiet(browser: Tab, url: str) -> None:
    """Nothing was refused by the policy, nothing failed, nobody else was asked."""
    assert browser.told("Runtime.exceptionThrown") == []
    # The policy's violations come by this.
    assert browser.told("Log.entryAdded", "Runtime.consoleAPICalled") == []
    asked = [
        each["request"]["url"] for each in browser.told("Network.requestWillBeSent")
    ]
    assert [each for each in asked if not each.startswith((url, "data:,"))] == []


async def post(url: str, path: str, body: bytes) -> Any:  # noqa: ANN401
    """Ask as kube-scheduler and kubectl do."""
    async with (
        aiohttp.ClientSession() as session,
        session.post(url + path, data=body) as answer,
    ):
        assert answer.status < 300, await answer.text()
        return await answer.json()
