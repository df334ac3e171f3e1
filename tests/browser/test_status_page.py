"""The status page in headless Chromium: what is seen, heard, typed and measured."""

import asyncio
import json
from pathlib import Path
from typing import Final

import aiohttp
import pytest

from tests.browser.chromium import Tab
from tests.browser.colours import contrast
from tests.browser.conftest import ServePage, cluster_of
from tests.browser.scripts import (
    BARS,
    HEIGHTS,
    IDS_TWICE,
    LIVE,
    MARKS,
    ROW_INDICES,
    SECOND_CARD,
)
from tests.browser.steps import check_quiet, opened, post
from tests.builders import node, pod
from tests.cli.command import EXAMPLE
from tests.web.scheduler import arguments, binding

pytestmark = [pytest.mark.verify, pytest.mark.timeout(300)]

LARGE: Final = EXAMPLE.parent / "pods" / "too-large.yaml"
LEAST_CONTRAST: Final = 4.5
"""Of texts: WCAG 2.2, 1.4.3 (AA)."""

LEAST_MARK_CONTRAST: Final = 3.0
"""Of what else tells something: WCAG 2.2, 1.4.11 (AA)."""


NASTY: Final = "<img src=x onerror=document.title='hit'>"


async def test_bars_show_what_inspect_tells(
    browser: Tab, serve_page: ServePage
) -> None:
    """Each card of the example cluster: its words, and how wide its bars are."""
    url, _ = await serve_page(EXAMPLE)
    await opened(browser, url)
    rows = await browser.evaluate(BARS)
    async with aiohttp.ClientSession() as session, session.get(f"{url}/inspect") as got:
        told = await got.json()
    assert [each["node"] for each in rows] == [each["node"] for each in told["nodes"]]
    for row, inspected in zip(rows, told["in_full"], strict=True):
        assert row["pods"] == str(inspected["summary"]["pods"])
        for bar, card in zip(row["cards"], inspected["cards"], strict=True):
            charged, capacity = card["charged"], card["capacity"]
            parts = [
                f"card {card['index']}",
                card["model"],
                f"{charged['memory_mib']} of {capacity['memory_mib']} MiB",
                f"{charged['core_percent']} of {capacity['core_percent']} % cores",
                f"{charged['slots']} of {capacity['slots']} slots",
                *([f"closed: {card['closed_by']}"] if card["closed_by"] else []),
            ]
            assert bar["text"] == ", ".join(parts)
            for name, key in (("mib", "memory_mib"), ("cores", "core_percent")):
                part = min(1, charged[key] / capacity[key])
                assert bar[name] == pytest.approx(part, abs=0.01)
    check_quiet(browser, url)


async def test_pod_appears_live(browser: Tab, serve_page: ServePage) -> None:
    """It waits, is bound, and its card's bar grows; nothing is loaded again."""
    url, _ = await serve_page(EXAMPLE)
    await opened(browser, url)
    await browser.evaluate("window.isSame = true")
    asking = pod("new", "team").app("a", gpu=1, gpumem=1_024)
    await post(url, "/pods", json.dumps(asking.build()).encode())
    await browser.until(
        "document.getElementById('waiting').innerText.includes('team/new')"
    )
    card = "[...document.querySelectorAll('#rows .node')][3].querySelector('.card')"
    before = await browser.evaluate(f"{card}.getAttribute('aria-label')")
    assert "card 0, NVIDIA H100" in before
    bound = await post(url, "/bind", json.dumps(binding(asking, "gpu-a10-01")).encode())
    assert bound == {"Error": ""}
    await browser.until(
        "!document.getElementById('waiting').innerText.includes('team/new')"
    )
    counts = "document.querySelector('#rows .node .count').textContent"
    assert await browser.until(f"{counts} === '4'")
    assert await browser.evaluate("window.isSame")
    check_quiet(browser, url)


async def test_reasons_of_a_pod_that_waits(browser: Tab, serve_page: ServePage) -> None:
    """Codes as filter gave them; each opens what explain says."""
    url, embedded = await serve_page(EXAMPLE)
    asking = pod("vast", "team").app("a", gpu=1, gpumem=98_304)
    await post(url, "/pods", json.dumps(asking.build()).encode())
    asked = arguments(asking, list(embedded.cluster.nodes), None)
    await post(url, "/filter", json.dumps(asked).encode())
    await opened(browser, url)
    button = (
        "[...document.querySelectorAll('#waiting button')]"
        ".find((each) => each.textContent === 'CardInsufficientMemory')"
    )
    await browser.until(f"!!{button}")
    await browser.evaluate(f"{button}.click()")
    await browser.until(
        "document.getElementById('details-body').innerText"
        ".includes('fits on none of 7 nodes')"
    )
    shown = await browser.evaluate("document.getElementById('details-body').innerText")
    assert "nearest miss: gpu-a100-01, 16384 MiB more on card 0" in shown
    assert await browser.evaluate("document.activeElement.id") == "details"
    check_quiet(browser, url)


async def test_keyboard_alone(browser: Tab, serve_page: ServePage) -> None:
    """From the top to a pod's phases and back; each step is told by its id."""
    url, _ = await serve_page(EXAMPLE)
    await opened(browser, url)
    order = []
    for _ in range(6):
        await browser.press("Tab")
        order.append(
            await browser.evaluate(
                "document.activeElement.id || document.activeElement.className"
            )
        )
    assert order == ["skip", "theme", "query", "model", "only", "nodes"]
    current = (
        "document.getElementById(document.getElementById('nodes')"
        ".getAttribute('aria-activedescendant'))"
    )
    assert "gpu-a10-01" in await browser.evaluate(f"{current}.textContent")
    await browser.press("ArrowDown")
    await browser.press("ArrowRight")
    label = await browser.evaluate(f"{current}.getAttribute('aria-label')")
    assert label.startswith("card 0, NVIDIA A10, 22528 of 23028 MiB")
    rows = "document.querySelectorAll('#details-body tbody tr').length"
    await browser.until(f"{rows} === 1")
    await browser.press("Enter")
    assert await browser.evaluate("document.activeElement.id") == "details"
    await browser.press("Tab")
    await browser.press("Enter")
    await browser.until("document.querySelectorAll('svg .phase').length === 2")
    table = await browser.evaluate("document.querySelector('svg + table').innerText")
    assert "init augment + metrics\tcounts now\t22528" in table
    heights = await browser.evaluate(HEIGHTS)
    assert heights[1] / heights[0] == pytest.approx(12_288 / 22_528)
    await browser.press("Escape")
    assert await browser.evaluate("document.activeElement.id") == "nodes"
    await browser.press("End", modifiers=2)
    await browser.press("Home")
    assert "gpu-t4-01" in await browser.evaluate(f"{current}.textContent")
    check_quiet(browser, url)


async def test_pointer_over_a_card(browser: Tab, serve_page: ServePage) -> None:
    """Its pods are shown beside it."""
    url, _ = await serve_page(EXAMPLE)
    await opened(browser, url)
    box = await browser.evaluate(SECOND_CARD)
    for step in (2, 5):
        await browser.call(
            "Input.dispatchMouseEvent", type="mouseMoved", x=box[0] + step, y=box[1] + 5
        )
    await browser.until(
        "document.getElementById('details-body').innerText"
        ".includes('card 1 NVIDIA A10')"
    )
    check_quiet(browser, url)


@pytest.mark.parametrize(
    ("typed", "nodes"),
    [
        ("a10-02", ["gpu-a10-02"]),
        ("whisper", ["gpu-a10-01"]),
        ("TESLA p4", ["gpu-mixed-01"]),
        ("cardcordoned", ["gpu-a100-01"]),
        ("no such thing", []),
    ],
)
async def test_search(
    browser: Tab, serve_page: ServePage, typed: str, nodes: list[str]
) -> None:
    """By node, pod, model and reason; how many were found is told."""
    url, _ = await serve_page(EXAMPLE)
    await opened(browser, url)
    await browser.evaluate("document.getElementById('query').focus()")
    await browser.write(typed)
    found = "document.getElementById('found').textContent"
    await browser.until(f"{found}.startsWith('{len(nodes)} of 6 nodes')")
    assert [each["node"] for each in await browser.evaluate(BARS)] == nodes
    check_quiet(browser, url)


async def test_filters(browser: Tab, serve_page: ServePage) -> None:
    """By what the cards are, and how they stand."""
    url, _ = await serve_page(EXAMPLE)
    await opened(browser, url)

    async def chosen(element: str, value: str) -> list[str]:
        await browser.evaluate(
            f"(() => {{ const box = document.getElementById({element!r});"
            f"box.value = {value!r}; box.dispatchEvent(new Event('change')); }})()"
        )
        return [each["node"] for each in await browser.evaluate(BARS)]

    assert await chosen("only", "problem") == ["gpu-t4-01"]
    closed = ["gpu-a10-02", "gpu-a100-01", "gpu-t4-01"]
    assert await chosen("only", "closed") == closed
    assert await chosen("model", "NVIDIA A10") == ["gpu-a10-02"]
    check_quiet(browser, url)


async def test_names_are_texts(
    browser: Tab, serve_page: ServePage, tmp_path: Path
) -> None:
    """Whatever a node or a pod is called, it is shown so, and does nothing."""
    file = cluster_of(
        tmp_path / "nasty.json",
        node(NASTY).gpu("GPU-a", model=NASTY).build(),
        pod(NASTY, NASTY).app(NASTY, gpu=1).build(),
        pod("b", NASTY).app("a", gpu=1).on(NASTY).holding("GPU-a,NVIDIA,1,0:;").build(),
    )
    url, _ = await serve_page(file)
    await opened(browser, url)
    await browser.evaluate("document.getElementById('nodes').focus()")
    await browser.until(
        "document.querySelectorAll('#details-body button').length === 1"
    )
    text = await browser.evaluate("document.body.innerText")
    assert text.count(NASTY) >= 5
    assert await browser.evaluate("document.querySelectorAll('img').length") == 0
    assert await browser.evaluate("document.title") == "GPU extender: cards"
    check_quiet(browser, url)


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_colours_can_be_told_apart(
    browser: Tab, serve_page: ServePage, scheme: str
) -> None:
    """As the system prefers, and by the button; computed on every text."""
    url, _ = await serve_page(EXAMPLE)
    other = "light" if scheme == "dark" else "dark"
    await post(url, "/pods", LARGE.read_bytes())
    await browser.prefer(prefers_color_scheme=scheme, prefers_reduced_motion="reduce")
    await browser.open(f"{url}/ui")
    await browser.until(LIVE)
    await browser.evaluate("document.getElementById('nodes').focus()")
    await browser.until("document.querySelectorAll('#details-body table').length > 1")
    assert await contrast(browser) >= LEAST_CONTRAST
    marks = await browser.evaluate(MARKS)
    assert min(marks.values()) >= LEAST_MARK_CONTRAST, marks
    page = "getComputedStyle(document.body).backgroundColor"
    first = await browser.evaluate(page)
    await browser.evaluate("document.getElementById('theme').click()")
    assert await browser.evaluate("document.documentElement.dataset.theme") == other
    assert await browser.evaluate(page) != first
    assert await contrast(browser) >= LEAST_CONTRAST
    await browser.open(f"{url}/ui")
    await browser.until(LIVE)
    assert await browser.evaluate("document.documentElement.dataset.theme") == other
    check_quiet(browser, url)


async def test_screen_reader(browser: Tab, serve_page: ServePage) -> None:
    """What the browser hands to one: roles, names, and how many rows there are."""
    url, _ = await serve_page(EXAMPLE)
    await post(url, "/pods", LARGE.read_bytes())
    await opened(browser, url)
    tree = (await browser.call("Accessibility.getFullAXTree"))["nodes"]
    named: dict[str, list[str]] = {}
    for each in tree:
        if not each.get("ignored"):
            name = each.get("name", {}).get("value", "")
            named.setdefault(each["role"]["value"], []).append(name)
    assert named["grid"] == ["Nodes"]
    assert named["search"] == ["Nodes and pods"]
    assert {"main", "banner"} <= named.keys()
    assert [each for each in named["heading"] if each][:3] == [
        "GPU cards",
        "The cluster in numbers",
        "Nodes",
    ]
    assert len([each for each in named["gridcell"] if each.startswith("card ")]) == 23
    for role in ("button", "combobox", "searchbox", "gridcell", "rowheader", "table"):
        assert all(named[role]), role
    grid = "document.getElementById('nodes')"
    assert await browser.evaluate(f"{grid}.getAttribute('aria-rowcount')") == "7"
    indices = await browser.evaluate(ROW_INDICES)
    assert sorted(indices) == ["2", "3", "4", "5", "6", "7"]
    twice = await browser.evaluate(IDS_TWICE)
    assert twice == []
    assert await browser.evaluate("document.documentElement.lang") == "en"


async def test_reduced_motion(browser: Tab, serve_page: ServePage) -> None:
    """Bars grow at once for whoever asks for that."""
    url, _ = await serve_page(EXAMPLE)
    await opened(browser, url)
    seconds = "getComputedStyle(document.querySelector('.card i')).transitionDuration"
    assert await browser.evaluate(seconds) == "0s"
    await browser.prefer(prefers_reduced_motion="no-preference")
    assert await browser.evaluate(seconds) == "0.25s"


async def test_connection_comes_back(browser: Tab, serve_page: ServePage) -> None:
    """The page says that it is cut off, and shows what changed meanwhile."""
    url, _ = await serve_page(EXAMPLE)
    await opened(browser, url)
    await browser.call(
        "Network.emulateNetworkConditions",
        offline=True,
        latency=0,
        downloadThroughput=-1,
        uploadThroughput=-1,
    )
    await browser.evaluate("window.isSame = true")
    asking = pod("meanwhile").app("a", gpu=1, gpumem=1_024)
    await post(url, "/pods", json.dumps(asking.build()).encode())
    await asyncio.sleep(1)
    await browser.call(
        "Network.emulateNetworkConditions",
        offline=False,
        latency=0,
        downloadThroughput=-1,
        uploadThroughput=-1,
    )
    await browser.until(
        "document.getElementById('waiting').innerText.includes('default/meanwhile')"
    )
    await browser.until(LIVE)
    assert await browser.evaluate("window.isSame")
