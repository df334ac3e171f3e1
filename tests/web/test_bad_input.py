"""What cannot be used is refused by name, and changes nothing."""

import asyncio
import gzip
import json
from collections.abc import AsyncIterator
from io import BytesIO
from typing import Any

import pytest

from tests.builders import Json, node, pod
from tests.web.conftest import Serve
from tests.web.scheduler import Answer, Scheduler, arguments, binding

CARD = node("n1").gpu("GPU-a")
RESIDENT = pod("r").app("a", gpu=1, gpumem=8000).on("n1").phase("Running")
RESIDENT = RESIDENT.holding("GPU-a,NVIDIA,8000,0:;")
ASKING = pod("p").app("a", gpu=1, gpumem=8000)
ARGS = arguments(ASKING, ["n1"], None)
BINDING = binding(ASKING, "n1")
DEEPEST = 100_000

Case = tuple[str, bytes, str]
"""Path, body, and what the error names."""


def _args(**changed: Any) -> bytes:  # noqa: ANN401 - wrong on purpose
    return json.dumps({**ARGS, **changed}).encode()


def _pod(**changed: Any) -> bytes:  # noqa: ANN401 - wrong on purpose
    return _args(Pod={**ARGS["Pod"], **changed})


def _nodes(*items: Any) -> bytes:  # noqa: ANN401 - wrong on purpose
    return _args(NodeNames=None, Nodes={"items": list(items)})


def _binding(**changed: Any) -> bytes:  # noqa: ANN401 - wrong on purpose
    return json.dumps({**BINDING, **changed}).encode()


def _container(resources: Any) -> Json:  # noqa: ANN401 - wrong on purpose
    return {"containers": [{"name": "a", "resources": resources}]}


_ANY_BODY: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "body"),
    "no JSON": (b"{", "body"),
    "two values": (b"{}{}", "body"),
    "not UTF-8": (b'{"Pod": "\xff"}', "body"),
    "a lone surrogate": (b'{"Pod": "\\ud800"}', "body"),
    "UTF-16": (json.dumps(ARGS).encode("utf-16"), "body"),
    "NUL bytes": (b"\0" * 100, "body"),
    "NUL after JSON": (json.dumps(ARGS).encode() + b"\0", "body"),
    "a list": (b"[]", "body"),
    "null": (b"null", "body"),
    "a number without end": (b'{"Pod": 1' + b"0" * 5000 + b"}", "body"),
    "infinity": (b'{"Pod": 1e999}', "body"),
    "NaN": (b'{"Pod": NaN}', "body"),
    "a huge number": (b"1" + b"0" * 300, "body"),
    "deep lists": (b"[" * DEEPEST + b"]" * DEEPEST, "body"),
    "deep objects": (b'{"Pod":' * DEEPEST + b"1" + b"}" * DEEPEST, "body"),
    "as deep as is parsed": (b'{"Pod":' * 1000 + b"1" + b"}" * 1000, ""),
}
_ARGUMENTS: dict[str, tuple[bytes, str]] = {
    "nothing": (b"{}", "Pod"),
    "no pod": (_args(Pod=None), "Pod"),
    "a text for a pod": (_args(Pod="p"), "pod"),
    "keys in lower case": (json.dumps({"pod": ARGS["Pod"]}).encode(), "Pod"),
    "neither list": (_args(NodeNames=None), "NodeNames"),
    "names are a text": (_args(NodeNames="n1"), "NodeNames"),
    "names are numbers": (_args(NodeNames=["n1", 7]), "NodeNames[1]"),
    "an empty name": (_args(NodeNames=["n1", ""]), "NodeNames[1]"),
    "a null name": (_args(NodeNames=[None]), "NodeNames[0]"),
    "nodes are a list": (_args(NodeNames=None, Nodes=[]), "Nodes"),
    "items are a text": (_args(NodeNames=None, Nodes={"items": "x"}), "Nodes.items"),
    "a node is a text": (_nodes("n1"), "Nodes.items[0]"),
    "a node without name": (_nodes({"metadata": {}}), "Nodes.items[0].metadata.name"),
    "a pod without name": (_pod(metadata={}), "metadata.name"),
    "a number for a uid": (_pod(metadata={"name": "p", "uid": 5}), "metadata.uid"),
    "annotations are a list": (
        _pod(metadata={"name": "p", "annotations": []}),
        "metadata.annotations",
    ),
    "an annotation is a number": (
        _pod(metadata={"name": "p", "annotations": {"k": 1}}),
        "metadata.annotations[k]",
    ),
    "no container": (_pod(spec={"containers": []}), "spec.containers"),
    "a container is a text": (_pod(spec={"containers": ["a"]}), "spec.containers[0]"),
    "inits are an object": (
        _pod(spec={"containers": [{"name": "a"}], "initContainers": {}}),
        "spec.initContainers",
    ),
    "limits are a list": (
        _pod(spec=_container({"limits": []})),
        "spec.containers[0].resources.limits",
    ),
    "a deep pod": (
        _args(NodeNames="x").replace(b'"x"', b"[" * 900 + b"]" * 900),
        "NodeNames[0]",
    ),
}
_BINDINGS: dict[str, tuple[bytes, str]] = {
    f"{key} is {shown}": (_binding(**{key: value}), key)
    for key in BINDING
    for shown, value in {
        "null": None,
        "empty": "",
        "a number": 7,
        "a list": ["x"],
    }.items()
}
_PODS: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "body"),
    "a node": (json.dumps(CARD.build()).encode(), "kind"),
    "no kind": (b'{"metadata": {"name": "x"}}', "kind"),
    "two pods": (b"kind: Pod\n---\nkind: Pod\n", "body"),
    "no container": (b"kind: Pod\nmetadata: {name: x}\n", "spec.containers"),
    "a text": (b"hello", "body"),
    "bad YAML": (b"a: [", "body"),
    "an alias": (b"kind: &k Pod\nmetadata: &m {name: x}\nspec: *m\n", "body"),
    "deep YAML": (b"- [" + b"[" * DEEPEST, "body"),
    "deeper YAML": (b"- " * DEEPEST, "body"),
    "binary": (bytes(range(256)), "body"),
    "a list in labels": (
        b"kind: Pod\nmetadata: {name: x, labels: [a]}\nspec: {containers: [name: a]}",
        "metadata.labels",
    ),
    "deeper than can be listed again": (
        b'{"kind":"Pod","metadata":{"name":"x","y":'
        + b"[" * 400
        + b"]" * 400
        + b'},"spec":{"containers":[{"name":"a"}]}}',
        "",
    ),
}
CASES: dict[str, Case] = {
    **{
        f"{path} {name}": (path, body, field)
        for path in ("/filter", "/prioritize", "/bind")
        for name, (body, field) in _ANY_BODY.items()
    },
    **{
        f"{path} {name}": (path, body, field)
        for path in ("/filter", "/prioritize")
        for name, (body, field) in _ARGUMENTS.items()
    },
    **{f"/bind {name}": ("/bind", *case) for name, case in _BINDINGS.items()},
    **{f"/pods {name}": ("/pods", *case) for name, case in _PODS.items()},
}


async def _refused(scheduler: Scheduler, path: str, body: object) -> Answer:
    """Send what must be refused; nothing that can be seen may change."""
    before = await scheduler.state()
    answer = await scheduler.send("POST", path, body)
    assert await scheduler.state() == before
    return answer


def _error(answer: Answer) -> str:
    assert answer.headers["Content-Type"].startswith("application/json")
    assert set(answer.json) == {"error"}
    error: str = answer.json["error"]
    return error


@pytest.mark.parametrize(("path", "body", "field"), CASES.values(), ids=CASES)
async def test_malformed_body_is_refused_by_field(
    serve: Serve, path: str, body: bytes, field: str
) -> None:
    """400, JSON, a short text that starts with the field; the state stays."""
    scheduler = await serve(CARD, RESIDENT, ASKING)
    answer = await _refused(scheduler, path, body)
    assert answer.status == 400
    assert _error(answer).startswith(field)
    assert len(_error(answer)) < 500


async def test_unknown_path_is_named(serve: Serve) -> None:
    """404 names the path, however it is spelled."""
    scheduler = await serve(CARD)
    for path in ("/", "/scheduler/filter", "/filter/", "/preempt", "/%FF", "/a%00b"):
        answer = await _refused(scheduler, path, b"{}")
        assert answer.status == 404
        assert path.split("%")[0] in _error(answer)


async def test_wrong_method_says_which_is_right(serve: Serve) -> None:
    """405 with Allow."""
    scheduler = await serve(CARD)
    for path in ("/filter", "/prioritize", "/bind"):
        for method in ("GET", "PUT", "DELETE", "PATCH"):
            answer = await scheduler.send(method, path)
            assert (answer.status, answer.headers["Allow"]) == (405, "POST")
            assert path in _error(answer)
    answer = await scheduler.send("DELETE", "/pods")
    assert answer.status == 405
    assert set(answer.headers["Allow"].split(",")) >= {"GET", "POST"}


async def test_other_encodings_are_not_our_fault(serve: Serve) -> None:
    """A body that is not as compressed as it claims is the sender's error: 4xx."""
    scheduler = await serve(CARD)
    before = await scheduler.state()
    for encoding in ("gzip", "deflate", "zstd", "br", "nonsense"):
        answer = await scheduler.send(
            "POST", "/filter", b"not compressed", {"Content-Encoding": encoding}
        )
        assert 400 <= answer.status < 500, encoding
        if encoding in ("gzip", "deflate"):  # others end before they reach a handler
            assert _error(answer)
    assert await scheduler.state() == before


async def test_content_type_does_not_matter(serve: Serve) -> None:
    """kube-scheduler sends JSON, curl a form by default: the bytes count."""
    scheduler = await serve(CARD)
    for kind in ("application/json", "application/x-www-form-urlencoded", "x"):
        answer = await scheduler.send(
            "POST", "/filter", json.dumps(ARGS), {"Content-Type": kind}
        )
        assert answer.status == 200
        assert answer.json["NodeNames"] == ["n1"]


def _of_size(size: int) -> bytes:
    """Write arguments of exactly so many bytes, with the names at the very end."""
    head, tail = _args(NodeNames=None)[:-1], b', "NodeNames": ["n1"]}'
    head = head.replace(b', "NodeNames": null', b"")
    return head + b" " * (size - len(head) - len(tail)) + tail


async def test_body_at_the_limit_is_served_and_above_refused(serve: Serve) -> None:
    """413 names the body; never is a body cut short and read as a shorter one."""
    limit = 5000
    scheduler = await serve(CARD, RESIDENT, limit=limit)
    for path in ("/filter", "/prioritize"):
        assert (await scheduler.send("POST", path, _of_size(limit))).status == 200
    for path in ("/filter", "/prioritize", "/bind", "/pods"):
        answer = await _refused(scheduler, path, _of_size(limit + 1))
        assert answer.status == 413
        assert _error(answer).startswith("body")


async def _chunks(body: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(body), 701):
        yield body[start : start + 701]
        await asyncio.sleep(0)


async def test_chunked_upload_has_the_same_limit(serve: Serve) -> None:
    """No Content-Length tells in advance."""
    limit = 5000
    scheduler = await serve(CARD, limit=limit)
    answer = await scheduler.send("POST", "/filter", _chunks(_of_size(limit)))
    assert (answer.status, answer.json["NodeNames"]) == (200, ["n1"])
    answer = await _refused(scheduler, "/filter", _chunks(_of_size(limit + 1)))
    assert answer.status == 413
    assert _error(answer).startswith("body")


async def test_default_limit_is_64_mib(serve: Serve) -> None:
    """Full nodes of a large cluster pass; one byte more than the limit does not."""
    limit = 64 * 1024 * 1024
    scheduler = await serve(CARD)
    answer = await scheduler.send("POST", "/filter", BytesIO(_of_size(limit)))
    assert (answer.status, answer.json["NodeNames"]) == (200, ["n1"])
    answer = await scheduler.send("POST", "/filter", BytesIO(_of_size(limit + 1)))
    assert answer.status == 413
    assert (await scheduler.filter(ASKING)).node_names == ["n1"]


async def test_compressed_body_has_the_same_limit(serve: Serve) -> None:
    """A few kilobytes that stand for many do not pass it."""
    scheduler = await serve(CARD, limit=5000)
    headers = {"Content-Encoding": "gzip"}
    small = gzip.compress(_of_size(5000))
    answer = await scheduler.send("POST", "/filter", small, headers)
    assert answer.status in {200, 415}  # nobody needs it, but if taken, then whole
    bomb = gzip.compress(_of_size(5_000_000))
    answer = await scheduler.send("POST", "/filter", bomb, headers)
    assert answer.status in {413, 415}
    assert _error(answer)


ODD_BUT_RIGHT: dict[str, tuple[bytes, list[str]]] = {
    "NUL in a name": (_args(NodeNames=["n1", "n\0"]), ["n1"]),
    "emoji in a name": (_args(NodeNames=["n1", "🐎"]), ["n1"]),
    "a long name": (_args(NodeNames=["n1", "n" * 100_000]), ["n1"]),
    "unknown keys": (_args(Priority=1, Nodes=None), ["n1"]),
    "blanks around": (b"\n\t " + _args() + b"\r\n ", ["n1"]),
    "huge numbers where none counts": (
        _pod(status={"startTime": 10**40, "phase": 10**40}),
        ["n1"],
    ),
    "a huge count": (_pod(spec=_container({"limits": {"nvidia.com/gpu": 1e300}})), []),
    "a negative count": (
        _pod(spec=_container({"limits": {"nvidia.com/gpu": "-9223372036854775809"}})),
        [],
    ),
    "a quantity of 10,000 digits": (
        _pod(spec=_container({"limits": {"nvidia.com/gpu": "1" * 10_000}})),
        [],
    ),
    "an exponent without end": (
        _pod(spec=_container({"limits": {"nvidia.com/gpu": "1e999999999"}})),
        [],
    ),
}


@pytest.mark.parametrize(("body", "fitting"), ODD_BUT_RIGHT.values(), ids=ODD_BUT_RIGHT)
async def test_odd_body_is_answered(
    serve: Serve, body: bytes, fitting: list[str]
) -> None:
    """Strange, but it can be read; a request that cannot be honoured fits nowhere."""
    scheduler = await serve(CARD)
    before = await scheduler.state()
    answer = await scheduler.send("POST", "/filter", body)
    assert answer.status == 200
    assert answer.json["NodeNames"] == fitting
    assert len(answer.body) < 250_000
    assert (await scheduler.send("POST", "/prioritize", body)).status == 200
    assert await scheduler.state() == before


async def test_pod_has_a_smaller_limit_of_its_own(serve: Serve) -> None:
    """YAML takes seconds per MiB, and no API server stores pods of that size."""
    scheduler = await serve(CARD)
    answer = await _refused(scheduler, "/pods", BytesIO(b" " * (1024 * 1024 + 1)))
    assert answer.status == 413
    assert _error(answer).startswith("body: 1048577 bytes")
