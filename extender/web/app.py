"""The aiohttp application: routes and handlers."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Final, Protocol

import orjson
from aiohttp import web

from extender.core.pod import Pod
from extender.errors import NotSynced
from extender.observe.logs import LEVELS
from extender.observe.metrics import CONTENT_TYPE
from extender.observe.timing import Timing
from extender.observe.words import Stage, Verb, VerbOutcome
from extender.service import Extender
from extender.service.shadow import ShadowExtender
from extender.settings import HttpSettings, Listener, Part
from extender.verbs.filter import FilterDecision
from extender.web.audit import encode_audit
from extender.web.bodies import BODIES, Bodies
from extender.web.clients import known_clients_only
from extender.web.doctor import add_doctor
from extender.web.errors import answer_errors
from extender.web.explain import add_explain
from extender.web.inspect import add_inspect
from extender.web.local import check_local
from extender.web.request_ids import give_ids
from extender.web.shadow import add_shadow
from extender.web.snapshot import add_snapshot
from extender.web.status_page import add_ui
from extender.web.webhook import add_webhook
from extender.web.what_if import add_what_if
from extender.wire.extender_v1 import (
    ExtenderArgs,
    decode_binding_args,
    decode_extender_args,
    encode_binding_result,
    encode_filter_result,
    encode_host_priorities,
)
from extender.wire.node_lists import NodeLists
from extender.wire.objects import JsonObject

EXTENDER: Final = web.AppKey("extender", Extender)

JSON: Final = "application/json"


class PodCreator(Protocol):
    """A cluster in which pods are created over HTTP: the embedded one."""

    async def add_pod(self, content: bytes) -> Pod:
        """Create a pod from its JSON or YAML text."""

    def pod_objects(self) -> Iterable[JsonObject]:
        """List every pod as a JSON object."""


def build_app(
    extender: Extender,
    settings: HttpSettings,
    intake: PodCreator | None = None,
    listener: Listener | None = None,
) -> web.Application:
    """Put the routes of a listener together.

    Args:
        extender: Answers the verbs.
        settings: Gives the limits.
        intake: Serves ``/pods`` beside the verbs where there is one.
        listener: Says what is served there, and to whom; None for the verbs' own.
    """
    listener = listener or next(settings.listeners())
    app = web.Application(
        client_max_size=settings.body_limit_bytes, middlewares=[give_ids, answer_errors]
    )
    if listener.tls is not None and listener.tls.client_ca_file is not None:
        app.middlewares.append(known_clients_only(listener.tls.client_names))
    app[EXTENDER] = extender
    app[BODIES] = Bodies(settings)
    for part, add_routes in _ROUTES_OF.items():
        if part in listener.parts and not _is_left_out(part, extender):
            add_routes(app, settings)
    if isinstance(extender, ShadowExtender) and Part.METRICS in listener.parts:
        add_shadow(app, extender)
    if intake is not None and Part.VERBS in listener.parts:
        app[_INTAKE] = intake
        app[_POD_LIMIT_BYTES] = settings.pod_limit_bytes
        app.router.add_post("/pods", _add_pod)
        app.router.add_get("/pods", _list_pods)
    return app


def _is_left_out(part: Part, extender: Extender) -> bool:
    """A shadow changes no pod, so it has no webhooks."""
    return part is Part.WEBHOOK and isinstance(extender, ShadowExtender)


def _add_verbs(app: web.Application, _settings: HttpSettings) -> None:
    app[_NODE_LISTS] = NodeLists()
    app.router.add_post("/filter", _filter)
    app.router.add_post("/prioritize", _prioritize)
    app.router.add_post("/bind", _bind)


def _add_metrics(app: web.Application, settings: HttpSettings) -> None:
    app.router.add_get("/healthz", _healthz)
    app.router.add_get("/readyz", _readyz)
    app.router.add_get("/metrics", _metrics)
    app.router.add_get("/debug/audit", _audit)
    app.router.add_get("/debug/log", _log_levels)
    add_explain(app, app[EXTENDER], settings.pod_limit_bytes)
    add_inspect(app, app[EXTENDER])
    add_doctor(app, app[EXTENDER], settings.pod_limit_bytes)
    add_what_if(app, app[EXTENDER], settings.pod_limit_bytes)
    add_snapshot(app, app[EXTENDER], settings.pod_limit_bytes)
    add_ui(app, app[EXTENDER])


def _add_webhook(app: web.Application, settings: HttpSettings) -> None:
    extender = app[EXTENDER]
    add_webhook(
        app,
        extender.admitter,
        extender.quota_admitter,
        settings.review_limit_bytes,
        extender.metrics,
    )


_ROUTES_OF: Final[Mapping[Part, Callable[[web.Application, HttpSettings], None]]] = {
    Part.VERBS: _add_verbs,
    Part.WEBHOOK: _add_webhook,
    Part.METRICS: _add_metrics,
}
"""What adds the routes of each part."""


_INTAKE: Final[web.AppKey[PodCreator]] = web.AppKey("intake", PodCreator)
_NODE_LISTS: Final = web.AppKey("node_lists", NodeLists)
_POD_LIMIT_BYTES: Final = web.AppKey("pod_limit_bytes", int)


async def _filter(request: web.Request) -> web.Response:
    extender = request.app[EXTENDER]
    with extender.metrics.time(Verb.FILTER) as timing:
        args = await _extender_args(request, timing)
        try:
            decision = extender.filter(args)
        except NotSynced as error:
            timing.outcome = VerbOutcome.NOT_SYNCED
            # kube-scheduler reads no other body than that of a 200.
            return _json(encode_filter_result(error=str(error)))
        timing.mark(Stage.FIT)
        answer = _json(_filter_result(args, decision))
        timing.mark(Stage.ENCODE)
        timing.outcome = _outcome(args.pod, decision)
        return answer


def _outcome(pod: Pod, decision: FilterDecision) -> VerbOutcome:
    if pod.request_problem is None and not pod.asks_for_devices:
        return VerbOutcome.NO_DEVICES
    return VerbOutcome.FITS if decision.fitting else VerbOutcome.FITS_NOWHERE


def _filter_result(args: ExtenderArgs, decision: FilterDecision) -> bytes:
    if args.nodes is None:
        return encode_filter_result(
            node_names=decision.fitting,
            failed=decision.failed,
            unresolvable=decision.unresolvable,
        )
    return encode_filter_result(
        nodes=[args.nodes[name] for name in decision.fitting],
        failed=decision.failed,
        unresolvable=decision.unresolvable,
    )


async def _prioritize(request: web.Request) -> web.Response:
    extender = request.app[EXTENDER]
    with extender.metrics.time(Verb.PRIORITIZE) as timing:
        args = await _extender_args(request, timing)
        scores = extender.prioritize(args)
        timing.mark(Stage.FIT)
        answer = _json(encode_host_priorities(args.candidates, scores))
        timing.mark(Stage.ENCODE)
        timing.outcome = VerbOutcome.SCORED
        return answer


async def _extender_args(request: web.Request, timing: Timing) -> ExtenderArgs:
    body = await request.app[BODIES].read(request)
    timing.mark(Stage.WAIT)
    args = decode_extender_args(
        body, request.app[EXTENDER].reader, request.app[_NODE_LISTS]
    )
    timing.mark(Stage.DECODE)
    return args


async def _bind(request: web.Request) -> web.Response:
    extender = request.app[EXTENDER]
    with extender.metrics.time(Verb.BIND) as timing:
        body = await request.app[BODIES].read(request)
        timing.mark(Stage.WAIT)
        args = decode_binding_args(body)
        timing.mark(Stage.DECODE)
        try:
            problem = await extender.bind(args, timing)
            timing.outcome = VerbOutcome.REFUSED if problem else VerbOutcome.BOUND
        except NotSynced as error:
            problem, timing.outcome = str(error), VerbOutcome.NOT_SYNCED
        answer = _json(encode_binding_result(problem))
        timing.mark(Stage.ENCODE)
        return answer


async def _healthz(_request: web.Request) -> web.Response:
    return web.Response(text="ok\n")


async def _readyz(request: web.Request) -> web.Response:
    if request.app[EXTENDER].is_synced:
        return web.Response(text="ok\n")
    return web.Response(
        status=503, text="nodes, pods and quotas have not been listed yet\n"
    )


async def _metrics(request: web.Request) -> web.Response:
    pieces = []
    for piece in request.app[EXTENDER].metrics.steps():
        pieces.append(piece)
        await asyncio.sleep(0)  # requests are answered first
    body = b"".join(pieces)
    return web.Response(body=body, headers={"Content-Type": CONTENT_TYPE})


async def _audit(request: web.Request) -> web.Response:
    check_local(request)
    extender = request.app[EXTENDER]
    differences = await extender.audit()
    return _json(encode_audit(extender.ledger, differences))


async def _log_levels(request: web.Request) -> web.Response:
    check_local(request)
    shown = {"level": LEVELS.level.value, "decisions": LEVELS.decisions.value}
    return _json(orjson.dumps(shown))


async def _add_pod(request: web.Request) -> web.Response:
    limit_bytes = request.app[_POD_LIMIT_BYTES]
    body = await request.app[BODIES].read(request, limit_bytes)
    pod = await request.app[_INTAKE].add_pod(body)
    created = {"namespace": pod.namespace, "name": pod.name, "uid": pod.uid}
    return _json(orjson.dumps(created), status=201)


async def _list_pods(request: web.Request) -> web.Response:
    pods = list(request.app[_INTAKE].pod_objects())
    listed = {"apiVersion": "v1", "kind": "List", "items": pods}
    return _json(orjson.dumps(listed))


def _json(body: bytes, status: int = 200) -> web.Response:
    return web.Response(body=body, status=status, content_type=JSON)
