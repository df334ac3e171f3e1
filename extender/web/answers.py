"""What routes that tell of the state have in common: whom they answer, and how."""

from typing import Final

import orjson
from aiohttp import web

from extender.core.names import NodeName
from extender.errors import Described, MalformedBody, NotSynced
from extender.service import Extender
from extender.wire.objects import JsonObject, shown
from extender.wire.views import encode_view

MOST_WANTED: Final = 64
"""Nodes that a request may name: each takes some milliseconds."""


def check_synced(extender: Extender) -> None:
    """Refuse to tell of a state that is not complete yet.

    Raises:
        NotSynced: It is not.
    """
    if not extender.is_synced:
        raise NotSynced("nodes, pods and quotas have not been listed yet; try again")


def wanted_nodes(request: web.Request) -> list[NodeName]:
    """Read which nodes are to be told in full besides.

    Raises:
        MalformedBody: There are too many.
    """
    names = [NodeName(name) for name in request.query.getall("node", ())]
    if len(names) > MOST_WANTED:
        found = Described(f"{len(names)} nodes")
        raise MalformedBody("node", found, f"at most {MOST_WANTED}")
    return names


def posted_object(body: bytes) -> JsonObject:
    """Read the one object that was posted.

    Raises:
        MalformedBody: It is not JSON, or no object.
    """
    try:
        posted = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        found = Described(f"what begins with {body[:40]!r}" if body else "empty")
        raise MalformedBody("body", found, f"JSON: {error}") from error
    if not isinstance(posted, dict):
        raise MalformedBody("body", shown(posted), "an object")
    return posted


def view_answer(view: object) -> web.Response:
    """Answer with a view."""
    return web.Response(body=encode_view(view), content_type="application/json")
