"""A headless Chromium, spoken to over its own debugging protocol.

The protocol is JSON over one WebSocket, which aiohttp speaks: no other package is
needed.

Source: chromedevtools.github.io/devtools-protocol, version "tot".
"""

import asyncio
import base64
import itertools
import os
import shutil
import subprocess
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, Self

import aiohttp

Json = Any

PROGRAM: Final = "/usr/bin/chromium"
FLAGS: Final = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--remote-debugging-port=0",
    "--window-size=1400,1000",
    # So that a look-up of any name but loopback's fails, and at once.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)
PATIENCE_SECONDS: Final = 30.0


def installed() -> str:
    """Give Chromium, from Debian's package where it is missing.

    Raises:
        RuntimeError: It is missing, and cannot be installed.
    """
    if not Path(PROGRAM).exists():
        apt = shutil.which("apt-get")
        if apt is None or os.geteuid() != 0:
            raise RuntimeError(
                f"{PROGRAM} is missing, and there is no apt-get as root to install it: "
                "install Debian's package chromium"
            )
        for arguments in (["update"], ["install", "-y", "chromium"]):
            done = subprocess.run(
                [apt, "-qq", *arguments],
                env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
                capture_output=True,
                text=True,
                check=False,
                timeout=600,
            )
            if done.returncode:
                raise RuntimeError(
                    f"{PROGRAM} is missing, and apt-get {arguments[0]} fails: "
                    f"{done.stderr[-500:]}"
                )
    return PROGRAM


class Tab:
    """One page of a browser."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self._answers: dict[int, asyncio.Future[Json]] = {}
        self.events: list[tuple[str, Json]] = []
        """All that the browser told by itself, in order."""
        self._reading = asyncio.create_task(self._read())

    async def close(self) -> None:
        """Stop listening."""
        self._reading.cancel()
        await asyncio.gather(self._reading, return_exceptions=True)
        await self._socket.close()

    async def call(self, method: str, **parameters: Json) -> Json:
        """Call a method of the protocol, and give its result.

        Raises:
            RuntimeError: The browser refuses.
        """
        number = next(self._numbers)
        self._answers[number] = asyncio.get_running_loop().create_future()
        await self._socket.send_json(
            {"id": number, "method": method, "params": parameters}
        )
        answer = await asyncio.wait_for(self._answers[number], PATIENCE_SECONDS)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    async def evaluate(self, expression: str) -> Json:
        """Evaluate JavaScript, and give its value; promises are waited for.

        Raises:
            RuntimeError: It throws.
        """
        told = await self.call(
            "Runtime.evaluate",
            expression=expression,
            awaitPromise=True,
            returnByValue=True,
        )
        if "exceptionDetails" in told:
            raise RuntimeError(f"{expression}: {told['exceptionDetails']}")
        return told["result"].get("value")

    async def until(self, expression: str) -> Json:
        """Wait until JavaScript gives something true, and give that.

        Raises:
            TimeoutError: It does not in time.
        """
        end = time.monotonic() + PATIENCE_SECONDS
        while not (value := await self.evaluate(expression)):
            if time.monotonic() > end:
                text = await self.evaluate("document.body.innerText")
                raise TimeoutError(f"not so: {expression}; the page says: {text[:500]}")
            await asyncio.sleep(0.05)
        return value

    async def open(self, url: str) -> Self:
        """Go to an address, and wait until it is loaded."""
        await self.call("Page.navigate", url=url)
        await self.until(
            f"location.href.startsWith({url!r}) && document.readyState === 'complete'"
        )
        return self

    async def press(self, key: str, *, modifiers: int = 0) -> None:
        """Press one key, as somebody at the keyboard does; 2 is control."""
        code = _CODES.get(key, 0)
        parts: dict[str, Json] = {
            "key": key,
            "code": key,
            "windowsVirtualKeyCode": code,
            "modifiers": modifiers,
        }
        text = {"Enter": "\r", " ": " "}.get(key)
        down = {**parts, "text": text} if text else parts
        await self.call("Input.dispatchKeyEvent", type="keyDown", **down)
        await self.call("Input.dispatchKeyEvent", type="keyUp", **parts)

    async def write(self, text: str) -> None:
        """Type a text where the focus is."""
        await self.call("Input.insertText", text=text)

    async def picture(self) -> bytes:
        """Take a PNG of what is in sight."""
        told = await self.call("Page.captureScreenshot", format="png")
        return base64.b64decode(told["data"])

    async def prefer(self, **features: str) -> None:
        """Set what the system prefers, by name of the media feature."""
        listed = [
            {"name": name.replace("_", "-"), "value": value}
            for name, value in features.items()
        ]
        await self.call("Emulation.setEmulatedMedia", features=listed)

    def told(self, *methods: str) -> list[Json]:
        """List what the browser told by itself, of some kinds."""
        return [parameters for method, parameters in self.events if method in methods]

    async def _read(self) -> None:
        async for message in self._socket:
            told: Mapping[str, Json] = message.json()
            if "id" in told:
                answer = self._answers.pop(told["id"])
                if not answer.done():
                    answer.set_result(told)
            else:
                self.events.append((told["method"], told.get("params")))


_CODES: Final = {
    "Enter": 13,
    "Escape": 27,
    "Tab": 9,
    "PageUp": 33,
    "PageDown": 34,
    "End": 35,
    "Home": 36,
    "ArrowLeft": 37,
    "ArrowUp": 38,
    "ArrowRight": 39,
    "ArrowDown": 40,
}


@asynccontextmanager
async def tab(folder: Path) -> AsyncIterator[Tab]:
    """Start a browser with a new profile in a folder, and give its page.

    Raises:
        RuntimeError: There is no browser.
        TimeoutError: It does not start in time.
    """
    program = installed()
    browser = await asyncio.create_subprocess_exec(
        program,
        *FLAGS,
        f"--user-data-dir={folder}",
        "about:blank",
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        port = await _port(folder / "DevToolsActivePort")
        async with aiohttp.ClientSession() as session:
            async with session.get(f"http://127.0.0.1:{port}/json") as answer:
                pages = await answer.json(content_type=None)
            url = next(
                each["webSocketDebuggerUrl"] for each in pages if each["type"] == "page"
            )
            async with session.ws_connect(url, max_msg_size=0) as socket:
                page = Tab(socket)
                for domain in ("Page", "Runtime", "Log", "Network", "DOM"):
                    await page.call(f"{domain}.enable")
                await page.call("Emulation.setFocusEmulationEnabled", enabled=True)
                try:
                    yield page
                finally:
                    await page.close()
    finally:
        browser.terminate()
        await browser.wait()


async def _port(file: Path) -> int:
    end = time.monotonic() + PATIENCE_SECONDS
    while True:
        if lines := await asyncio.to_thread(_lines, file):
            return int(lines[0])
        if time.monotonic() > end:
            raise TimeoutError(f"{PROGRAM} did not write {file.name}")
        await asyncio.sleep(0.05)


def _lines(file: Path) -> list[str]:
    return file.read_text().splitlines() if file.exists() else []
