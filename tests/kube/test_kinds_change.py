"""Kinds of device that change while the extender serves, and plugins that are asked."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Final

import pytest
from aiohttp import web

from extender.core.fleet import Fleet
from extender.core.kind_set import Kinds
from extender.core.kinds import Kind
from extender.state.audit import audit
from tests.builders import pod
from tests.kinds import ALPHA
from tests.kube.running import ONE_CARD, WANTED, Running, running
from tests.kube.server import ApiServer, until
from tests.values import GPU, N1

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
        assert set(fleet.totals(N1)) == {GPU}
        kinds = Kinds([*run.extender.reader.kinds, ALPHA])
        run.extender.read_with(replace(run.extender.reader, kinds=kinds))

        def held_mib() -> list[int]:
            totals = fleet.totals(N1).get("Alpha")
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
            return [text for _, text in nodes[N1].handshakes]

        await until(lambda: handshakes() == [""])
        await run.extender.ask_plugins()
        await until(lambda: handshakes()[0].startswith("Requesting_"))
        asked = len(run.server.asked("PATCH", "/nodes/"))
        await run.extender.ask_plugins()
        assert len(run.server.asked("PATCH", "/nodes/")) == asked


def read_with(run: Running, *kinds: Kind) -> None:
    """Let other kinds count, as a changed device-config does."""
    run.extender.read_with(replace(run.extender.reader, kinds=Kinds(kinds)))


async def until_counted(fleet: Fleet, *kinds: Kind) -> None:
    """Wait until the node has cards of these kinds and no others."""
    words = {each.type_word for each in kinds}
    await until(lambda: set(fleet.totals(N1)) == words)


async def test_a_kind_that_is_taken_out_and_back_counts_as_before() -> None:
    """What pods hold of it is in their annotations all the while."""
    async with running(server_with_alpha()) as run:
        fleet, before = run.extender.ledger.fleet, tuple(run.extender.reader.kinds)

        for kinds in ((*before, ALPHA), before, (ALPHA,), (*before, ALPHA)):
            read_with(run, *kinds)
            await until_counted(fleet, *kinds)
            assert audit(run.extender.ledger) == []
        totals = fleet.totals(N1)["Alpha"]
        assert [usage.memory_mib for usage in totals.used.values()] == [8_000]


def on_the_way(
    run: Running, *kinds: Kind
) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    """Let other kinds count, and then do what is asked."""

    async def answer(request: web.Request) -> web.StreamResponse:
        read_with(run, *kinds)
        return await run.server.carry_out(request)

    return answer


async def test_a_bind_ends_well_though_its_kind_is_taken_out_meanwhile() -> None:
    """The Binding was written by the kind as it was."""
    async with running(server_with_alpha().with_all(WANTED)) as run:
        run.server.fail("POST", "/pods/p/binding", on_the_way(run, ALPHA))
        assert await run.bind() == ""
        assert run.server.pod("p")["spec"]["nodeName"] == "n1"
        lock = run.server.lock_of("n1")
        assert lock is not None
        assert lock.endswith(",default,p")


async def test_a_bind_is_refused_whose_kind_is_taken_out_before_the_binding() -> None:
    """Which annotations its plugin reads is not known any more; the lock is free."""
    async with running(server_with_alpha().with_all(WANTED)) as run:
        run.server.fail("PATCH", "/nodes/n1", on_the_way(run, ALPHA))
        problem = await run.bind()
        assert "not configured any more" in problem
        assert "nodeName" not in run.server.pod("p")["spec"]
        assert not run.server.asked("POST", "/binding")
        assert run.server.lock_of("n1") is None
