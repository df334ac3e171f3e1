"""Random requests to every route of every listener: no answer is a fault of ours.

``FUZZ_REQUESTS`` says how many; ``make verify`` sends ten times as many.
"""

import asyncio
import gzip
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import aiohttp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from extender.runtime import embed
from extender.settings import Address, HttpSettings, Part, Settings
from extender.web.app import build_app
from tests.admission import new_pod, review
from tests.builders import node, pod
from tests.cli.command import EXAMPLE
from tests.web.doors import Served, opened
from tests.web.scheduler import arguments, binding

REQUESTS: Final = int(os.environ.get("FUZZ_REQUESTS") or 2_000)
MOST_PODS: Final = 50
"""Then the cluster is begun anew, or comparing it would take all the time."""

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

APART: Final = HttpSettings(
    port=0,
    webhook=Address("127.0.0.1", 0),
    metrics=Address("127.0.0.1", 0),
)
TOGETHER: Final = replace(APART, webhook=None, metrics=None)


@dataclass(frozen=True, slots=True)
class Sent:
    """One request."""

    method: str
    path: str
    body: bytes
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Got:
    """Its answer."""

    status: int
    body: bytes

    @property
    def json(self) -> Any:  # noqa: ANN401 - JSON is anything
        """The body; fails the test where it is no JSON."""
        return json.loads(self.body)


@dataclass(frozen=True, slots=True)
class Route:
    """What may be answered on a route, and what is right to be sent."""

    part: Part
    statuses: frozenset[int]
    valid: Sequence[object] = ()
    has_changed: Callable[[Got], bool] = lambda _: False
    """Whether an answer says that something was done."""


QUESTIONS: Final = [
    arguments(ASKING, ["n1", "n2"], None),
    arguments(ASKING, None, [each.build() for each in NODES]),
    arguments(BOUND, ["n2"], None),
]
POSTED: Final = frozenset({200, 400})
READ: Final = frozenset({200})
ROUTES: Final[dict[str, Route]] = {
    "POST /filter": Route(Part.VERBS, POSTED, QUESTIONS),
    "POST /prioritize": Route(Part.VERBS, POSTED, QUESTIONS),
    "POST /bind": Route(
        Part.VERBS,
        POSTED,
        [binding(ASKING, "n1"), binding(BOUND, "n1"), binding(BOUND.uid("x"), "n1")],
        lambda got: got.status == 200 and got.json == {"Error": ""},
    ),
    "POST /pods": Route(
        Part.VERBS,
        frozenset({201, 400, 409}),
        [pod("new").app("a", gpu=1, gpumem=3000).build(), BOUND.build(), CUT.build()],
        lambda got: got.status == 201,
    ),
    "POST /webhook": Route(
        Part.WEBHOOK,
        POSTED,
        [
            review(new_pod(ASKING)),
            review({**BOUND.build(), "metadata": {"generateName": "b-"}}),
        ],
    ),
    "POST /validate": Route(
        Part.WEBHOOK,
        POSTED,
        [review(ASKING.build()), review(BOUND.build())],
    ),
    "POST /explain": Route(
        Part.METRICS,
        POSTED,
        [ASKING.build(), BOUND.build(), CUT.build(), pod("plain").app("a").build()],
    ),
    "GET /explain/{namespace}/{name}": Route(Part.METRICS, READ | {404}),
    "GET /inspect": Route(Part.METRICS, READ),
    "GET /inspect/nodes/{name}": Route(Part.METRICS, READ | {404}),
    "GET /inspect/pods/{namespace}/{name}": Route(Part.METRICS, READ | {404}),
    "GET /doctor": Route(Part.METRICS, READ),
    "POST /doctor/fix": Route(
        Part.METRICS,
        POSTED | {415},
        [{"releases": [{"node": "n1", "value": "x"}]}, {"releases": []}],
    ),
    "GET /snapshot/{namespace}/{name}": Route(Part.METRICS, READ | {404}),
    "POST /snapshot": Route(
        Part.METRICS,
        POSTED,
        [ASKING.build(), BOUND.build(), pod("plain").app("a").build()],
    ),
    "POST /what-if": Route(
        Part.METRICS,
        POSTED | {404},
        [
            {"pod": ASKING.build(), "replicas": 3},
            {
                "pod": BOUND.build(),
                "add_nodes": [{"type": "n1", "count": 1}],
                "without": [f"{BOUND.namespace}/{BOUND.name}"],
            },
        ],
    ),
    "GET /ui": Route(Part.METRICS, READ),
    "GET /ui/{file}": Route(Part.METRICS, READ | {404}),
    "GET /ui/board": Route(Part.METRICS, READ),
    # Without a revision, so that it ends.
    "GET /ui/events": Route(Part.METRICS, frozenset({400})),
    "GET /pods": Route(Part.VERBS, READ),
    "GET /healthz": Route(Part.METRICS, READ),
    "GET /readyz": Route(Part.METRICS, READ),
    "GET /metrics": Route(Part.METRICS, READ),
    "GET /debug/audit": Route(Part.METRICS, READ),
    "GET /debug/log": Route(Part.METRICS, READ),
}
"""Every route: what is not here is 404, and another method 405."""

EARLY: Final = frozenset({400, 417})
"""What a request's header alone may bring about."""

VALID: Final = [body for route in ROUTES.values() for body in route.valid]
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
HEADERS: Final[list[dict[str, str]]] = [
    {},
    {},
    {"Accept": "text/html"},
    {"Content-Type": "multipart/form-data; boundary=x"},
    {"Content-Encoding": "gzip"},
    {"Content-Encoding": "deflate"},
    {"Expect": "100-continue"},
    {"Expect": "nothing"},
    {"Range": "bytes=0-1"},
    {"X-Forwarded-For": "10.0.0.1"},
    {"Connection": "close"},
    {"Connection": "Upgrade", "Upgrade": "websocket"},
    {"Cookie": "\xe9=;;="},
]


def routes_at(path: str) -> dict[str, Route]:
    """Give the routes of a path, by method."""
    found = {}
    for name, route in ROUTES.items():
        method, canonical = name.split()
        pattern = re.sub(r"\{\w+\}", "[^/]+", canonical)
        if re.fullmatch(pattern, path):
            found[method] = route
    return found


@st.composite
def requests(draw: st.DrawFn) -> Sent:
    """Draw a request; mostly to a route that there is, by its own method."""
    name = draw(st.sampled_from(sorted(ROUTES)))
    method, path = name.format(namespace="default", name="p", file="page.js").split()
    if draw(st.integers(0, 9)) == 0:
        methods = ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "X"]
        method = draw(st.sampled_from(methods))
    if draw(st.integers(0, 9)) == 0:
        path += draw(st.sampled_from(["/", "?a=b", "?%00", "/..", "%2f", "//", "é"]))
    headers = draw(st.sampled_from(HEADERS))
    body = b""
    if method not in {"GET", "HEAD"} or draw(st.integers(0, 9)) == 0:
        body = draw(bodies(ROUTES[name]))
        if headers.get("Content-Encoding") == "gzip" and draw(st.booleans()):
            body = gzip.compress(body, mtime=0)
    return Sent(method, path, body, headers)


@st.composite
def bodies(draw: st.DrawFn, route: Route) -> bytes:
    """Draw a right body, a spoiled one, any JSON, or any bytes."""
    kind = draw(st.integers(0, 9))
    if kind == 0:
        return draw(st.binary(max_size=64))
    if kind <= 2:
        return json.dumps(draw(VALUES)).encode()
    right = draw(st.sampled_from(route.valid or VALID))
    body = json.loads(json.dumps(right))
    if body.get("kind") == "Pod" and draw(st.booleans()):
        name = f"new-{draw(st.integers(0, 10**6))}"
        body["metadata"] |= {"name": name, "uid": name}
    for _ in range(draw(st.integers(0, 4))):
        _spoil(body, draw)
    return json.dumps(body).encode()


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


def test_every_route_is_fuzzed() -> None:
    """A new route has to say here what it may answer, and on which listener."""
    embedded = embed([EXAMPLE], Settings())
    served = {}
    for listener in APART.listeners():
        app = build_app(embedded.extender, APART, embedded.cluster, listener)
        for route in app.router.routes():
            if route.resource is not None and route.method != "HEAD":
                name = f"{route.method} {route.resource.canonical}"
                served[name] = listener.parts
    assert served == {name: frozenset({route.part}) for name, route in ROUTES.items()}


class Fuzzed:
    """Listeners that get random requests; nothing but what they say may change."""

    def __init__(self, folder: Path, http: HttpSettings) -> None:
        self._folder = folder
        self._http = http
        self._stack = AsyncExitStack()
        self._door: Served | None = None
        self.answers: Counter[int] = Counter()
        """By status."""

    async def check(self, part: Part, sent: Sent) -> None:
        """Send a request to the listener of a part, and judge the answer."""
        door = await self._open()
        before = _state(door)
        got = await self._send(door.doors.urls[part], sent)
        self.answers[got.status] += 1
        after = _state(door)
        route = self._route(part, sent)
        self._judge(part, sent, got, route)
        if route is None or not route.has_changed(got):
            assert after == before
        if len(door.embedded.extender.ledger.pods) > MOST_PODS:
            await self.close()

    async def close(self) -> None:
        """Stop."""
        self._door = None
        await self._stack.aclose()

    async def _open(self) -> Served:
        if self._door is None:
            opening = opened(self._folder, self._http, *NODES, ASKING, BOUND)
            self._door = await self._stack.enter_async_context(opening)
            self._session = await self._stack.enter_async_context(
                aiohttp.ClientSession(auto_decompress=False)
            )
        return self._door

    async def _send(self, url: str, sent: Sent) -> Got:
        try:
            async with self._session.request(
                sent.method,
                url + sent.path,
                data=sent.body or None,
                headers=sent.headers,
                compress=False,
                skip_auto_headers=["Content-Type"],
            ) as answer:
                return Got(answer.status, await answer.read())
        except aiohttp.ClientResponseError as error:
            # Of a HEAD that cannot be parsed nobody can tell that it is one, so its
            # 400 has a body.
            if (sent.method, error.status) != ("HEAD", 400):
                raise
            return Got(error.status, b"")

    def _is_served(self, part: Part, route: Route) -> bool:
        (parts,) = [each.parts for each in self._http.listeners() if part in each.parts]
        return route.part in parts

    def _route(self, part: Part, sent: Sent) -> Route | None:
        method = "GET" if sent.method == "HEAD" else sent.method
        route = routes_at(sent.path.partition("?")[0]).get(method)
        return route if route and self._is_served(part, route) else None

    def _judge(self, part: Part, sent: Sent, got: Got, route: Route | None) -> None:
        path = sent.path.partition("?")[0]
        is_here = any(self._is_served(part, each) for each in routes_at(path).values())
        right = {405} if is_here else {404}
        right = set(route.statuses) if route else right
        assert got.status in right | EARLY, (sent, got)
        if got.status >= 400 and sent.method != "HEAD":
            assert b"Traceback" not in got.body
            if got.status != 417:
                assert list(got.json) == ["error"]


def _state(door: Served) -> tuple[object, ...]:
    """Give all that is known of the cluster, to be compared."""
    ledger = door.embedded.extender.ledger
    return (
        dict(ledger.nodes),
        dict(ledger.pods),
        list(ledger.standings()),
        ledger.reservation_count,
        json.dumps(list(door.embedded.cluster.pod_objects()), sort_keys=True),
    )


def test_no_request_makes_us_fail(tmp_path: Path) -> None:
    """A named status, always JSON; refused means that nothing changed."""
    with asyncio.Runner() as runner:
        apart, together = Fuzzed(tmp_path, APART), Fuzzed(tmp_path, TOGETHER)

        @settings(max_examples=REQUESTS, suppress_health_check=[HealthCheck.too_slow])
        @given(
            fuzzed=st.sampled_from([apart, together]),
            at_random=st.integers(0, 9),
            part=st.sampled_from(Part),
            sent=requests(),
        )
        def check(fuzzed: Fuzzed, at_random: int, part: Part, sent: Sent) -> None:
            path = sent.path.partition("?")[0]
            own = list(routes_at(path).values())
            to = own[0].part if own and at_random else part
            runner.run(fuzzed.check(to, sent))

        try:
            check()
        finally:
            runner.run(apart.close())
            runner.run(together.close())
    answers = apart.answers + together.answers
    assert answers.total() >= REQUESTS
    # It would find nothing if all were refused at once.
    assert answers[200] > REQUESTS / 10
    assert set(answers) >= {200, 201, 400, 404, 405, 409}
