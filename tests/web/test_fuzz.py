"""Random JSON to every route: no answer of ours is a fault of ours."""

import asyncio
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from aiohttp.test_utils import TestClient, TestServer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from extender.runtime import embed
from extender.settings import HttpSettings, Settings
from extender.web.app import build_app
from tests.admission import new_pod, review
from tests.builders import node, pod
from tests.web.conftest import listed
from tests.web.scheduler import Answer, Scheduler, arguments, binding

NODES = [node("n1").gpu("GPU-a").gpu("GPU-b"), node("n2").mig("GPU-c")]
ASKING = (
    pod("p")
    .sidecar("s", gpu=1, gpumem=1000)
    .init("i", gpu=2, percentage=50)
    .app("a", gpu=1, gpumem=3000, cores=20)
    .annotations({"nvidia.com/use-gputype": "A10", "hami.io/vgpu-node": "n1"})
    .annotations({"gpu-extender/release": "never"})
)
BOUND = pod("b").app("a", gpu=1).on("n1").holding("GPU-a,NVIDIA,8000,0:;")
BOUND = BOUND.running("a").sandbox().phase("Running")
CUT = pod("c").app("a", gpu=1).on("n2").holding("GPU-c,NVIDIA,5120,15:;")
CUT = CUT.annotations(
    {
        "hami.io/vgpu-mig-allocations": '[{"gpuUUID":"GPU-c","profile":"1g.5gb",'
        '"placement":{"start":6,"size":1}}]'
    }
)
ROUTES = ("/filter", "/prioritize", "/bind", "/webhook", "/pods")

VALID = [
    arguments(ASKING, ["n1", "n2"], None),
    arguments(ASKING, None, [each.build() for each in NODES]),
    arguments(BOUND, ["n2"], None),
    binding(BOUND, "n1"),
    binding(BOUND.uid("other"), "n1"),
    pod("new").app("a", gpu=1, gpumem=3000).build(),
    BOUND.build(),
    CUT.build(),
    review(new_pod(ASKING)),
    review({**BOUND.build(), "metadata": {"generateName": "b-"}}),
]
WORDS = st.sampled_from(
    [
        "",
        "n1",
        "GPU-a",
        "Pod",
        "Always",
        "CREATE",
        "1",
        "-1",
        "1e9",
        "5Gi",
        "0.5",
        "Running",
        "GPU-a,NVIDIA,1,1:;",
        ";",
        ",,,:;",
        "[{}]",
        "2026-01-01T00:00:00Z",
        "\0",
        "é",
    ]
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    WORDS,
    st.text(max_size=8),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(WORDS | st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)


@st.composite
def spoiled(draw: st.DrawFn) -> object:
    """Draw a right body with up to four of its parts replaced, added or removed."""
    body = json.loads(json.dumps(draw(st.sampled_from(VALID))))
    for _ in range(draw(st.integers(1, 4))):
        _spoil(body, draw)
    return body


def _spoil(body: Any, draw: st.DrawFn) -> None:  # noqa: ANN401 - any JSON
    """Walk down a random path and change what is there."""
    part: Any = body
    keys: Sequence[Any]
    for _ in range(draw(st.integers(0, 8))):
        keys = list(part) if isinstance(part, dict) else range(len(part))
        inner = [key for key in keys if isinstance(part[key], dict | list)]
        if not inner:
            break
        part = part[draw(st.sampled_from(inner))]
    if not part:
        return
    keys = list(part) if isinstance(part, dict) else range(len(part))
    key = draw(st.sampled_from(keys))
    if draw(st.integers(0, 4)) == 0:
        del part[key]
    else:
        part[key] = draw(VALUES)


def test_no_json_makes_us_fail(tmp_path: Path) -> None:
    """200, 201 or a named 4xx, always JSON; refused means that nothing changed."""
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps(listed(*NODES, ASKING, BOUND)))

    with asyncio.Runner() as runner:

        async def start() -> Scheduler:
            embedded = embed([file], Settings())
            app = build_app(embedded.extender, HttpSettings(), embedded.cluster)
            server = TestServer(app)
            client = TestClient(server)
            await client.start_server()
            return Scheduler(client, server, embedded.cluster, embedded.extender)

        scheduler = runner.run(start())

        @settings(
            max_examples=max(150, settings().max_examples),
            suppress_health_check=[HealthCheck.too_slow],
        )
        @given(path=st.sampled_from(ROUTES), body=st.one_of(spoiled(), VALUES))
        def check(path: str, body: object) -> None:
            runner.run(_check(scheduler, path, body))

        try:
            check()
        finally:
            runner.run(scheduler.close())


async def _check(scheduler: Scheduler, path: str, body: object) -> None:
    before = await scheduler.state()
    answer = await scheduler.send("POST", path, json.dumps(body))
    assert answer.status in {200, 201, 400, 404, 409}, answer
    if answer.status >= 400:
        assert list(answer.json) == ["error"]
    after = await scheduler.state()
    if not MAY_CHANGE[path](answer):
        assert after == before


MAY_CHANGE: dict[str, Callable[[Answer], bool]] = {
    "/filter": lambda _: False,
    "/prioritize": lambda _: False,
    "/bind": lambda answer: answer.json == {"Error": ""},
    "/webhook": lambda _: False,
    "/pods": lambda answer: answer.status == 201,
}
"""Whether an answer says that something was done."""
