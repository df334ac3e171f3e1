"""Kinds of device that change while the extender serves, and plugins that are asked."""

from dataclasses import replace
from typing import Final

import pytest

from extender.core.kind_set import Kinds
from extender.core.model import NodeName
from tests.builders import pod
from tests.kinds import ALPHA
from tests.kube.running import ONE_CARD, running
from tests.kube.server import ApiServer, until
from tests.values import GPU

pytestmark = pytest.mark.timeout(30)

REGISTER: Final = (
    '[{"id":"A-0","count":10,"devmem":24000,"devcore":100,"type":"A","health":true}]'
)
HOLDER: Final = (
    pod("holder")
    .app("a")
    .on("n1")
    .annotations({ALPHA.allocated_annotation: "A-0,Alpha,8000,0:;"})
    .phase("Running")
)


def server_with_alpha() -> ApiServer:
    """Show a node that registers cards of a kind that nobody counts yet."""
    shown = ONE_CARD.build()
    shown["metadata"]["annotations"][ALPHA.register_annotation] = REGISTER
    shown["status"]["allocatable"][ALPHA.count_resource] = "10"
    holder = HOLDER.build()
    limits = {ALPHA.count_resource: "1", ALPHA.memory_resource: "8000"}
    holder["spec"]["containers"][0]["resources"] = {"limits": limits}
    server = ApiServer()
    server.put(shown)
    server.put(holder)
    return server


async def test_a_new_kind_counts_once_all_is_listed_again() -> None:
    """Its cards, and what running pods hold of them, without a restart."""
    async with running(server_with_alpha()) as run:
        fleet = run.extender.ledger.fleet
        assert set(fleet.totals(NodeName("n1"))) == {GPU}
        kinds = Kinds([*run.extender.reader.kinds, ALPHA])
        run.extender.read_with(replace(run.extender.reader, kinds=kinds))

        def held_mib() -> list[int]:
            totals = fleet.totals(NodeName("n1")).get("Alpha")
            held = totals.used.values() if totals is not None else ()
            return [usage.memory_mib for usage in held]

        await until(lambda: held_mib() == [8_000])


async def test_plugins_that_wait_are_asked_to_register() -> None:
    """Once after each report; others' kinds are left alone."""
    name = "alpha.example/handshake"
    waiting = replace(ALPHA, handshake_annotation=name)
    async with running(server_with_alpha()) as run:
        kinds = Kinds([*run.extender.reader.kinds, waiting])
        run.extender.read_with(replace(run.extender.reader, kinds=kinds))
        nodes = run.extender.ledger.nodes

        def handshakes() -> list[str]:
            return [text for _, text in nodes[NodeName("n1")].handshakes]

        await until(lambda: handshakes() == [""])
        await run.extender.ask_plugins()
        await until(lambda: handshakes()[0].startswith("Requesting_"))
        asked = len(run.server.asked("PATCH", "/nodes/"))
        await run.extender.ask_plugins()
        assert len(run.server.asked("PATCH", "/nodes/")) == asked
