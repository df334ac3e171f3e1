"""The admission webhooks: whether they reach the extender, and about which pods."""

from collections.abc import Iterator, Sequence
from typing import Final

from extender.verbs.diagnosis import Diagnosis
from extender.verbs.installation.catalogue import (
    WEBHOOK_ASKS_ABOUT_EVERY_POD,
    WEBHOOK_CA_DIFFERS,
    WEBHOOK_CA_ENDED,
    WEBHOOK_CA_UNREADABLE,
    WEBHOOK_FAILS_OPEN,
    WEBHOOK_FOREIGN,
    WEBHOOK_LEAVES_RESOURCE_OUT,
    WEBHOOK_MISSING,
    WEBHOOK_NARROWS_NAMESPACES,
    WEBHOOK_STOPS_QUOTA_PODS,
    WEBHOOK_UNREACHABLE,
    WEBHOOK_WITHOUT_CA,
)
from extender.verbs.installation.documents import (
    CaBundle,
    Demand,
    Served,
    ServiceReference,
    ServiceSeen,
    Webhook,
)

_OF_HAMI: Final = "vgpu.hami.io"
"""Name of HAMi's webhook, by its chart."""

_QUOTES: Final = ("'", '"')


def check_webhooks(
    webhooks: Sequence[Webhook],
    services: Sequence[ServiceSeen] | None,
    served: Served,
    demand: Demand,
    unix_seconds: float,
) -> Iterator[Diagnosis]:
    """Tell which webhooks do not do what they are for.

    Args:
        webhooks: Of all configurations.
        services: That exist, of those that they name; None where they were not read.
        served: How the extender serves.
        demand: What the cluster is about.
        unix_seconds: Now.
    """
    for each in webhooks:
        if each.name == _OF_HAMI:
            yield WEBHOOK_FOREIGN.found(
                f"webhook {each.name}",
                "HAMi's webhook asks about new pods, too",
                f"configuration: {each.configuration}",
            )
    ours = [each for each in webhooks if is_ours(each, served)]
    changing = [each for each in ours if each.is_mutating]
    if not changing:
        yield WEBHOOK_MISSING.found(
            "webhooks",
            "none of ours changes new pods",
            f"looked for a Service in namespace {served.namespace}",
        )
    for each in ours:
        yield from _check_trust(each, unix_seconds)
        yield from _check_way(each, services, served)
        yield from _check_failure(each)
        yield from _check_pods(each, demand)


def is_ours(webhook: Webhook, served: Served) -> bool:
    """Tell whether a webhook means the extender: by its Service, or by its path."""
    if webhook.service is not None:
        return webhook.service.namespace == served.namespace
    return any(webhook.url.endswith(path) for path in served.webhook_paths)


def _about(webhook: Webhook) -> str:
    return f"webhook {webhook.name}"


def _check_trust(webhook: Webhook, unix_seconds: float) -> Iterator[Diagnosis]:
    about, bundle = _about(webhook), webhook.bundle
    told = f"configuration: {webhook.configuration}"
    if bundle is None:
        yield WEBHOOK_WITHOUT_CA.found(about, "it has no caBundle", told)
    elif not bundle.authorities:
        problem = f"caBundle: {bundle.problem}"
        yield WEBHOOK_CA_UNREADABLE.found(
            about, "its caBundle cannot be read", told, problem
        )
    elif not _is_valid(bundle, unix_seconds):
        yield WEBHOOK_CA_ENDED.found(
            about,
            "no authority of its caBundle is valid now",
            told,
            f"authorities: {len(bundle.authorities)}",
        )
    elif bundle.signs_served is False:
        yield WEBHOOK_CA_DIFFERS.found(
            about, "its caBundle did not sign the certificate that is served", told
        )


def _is_valid(bundle: CaBundle, unix_seconds: float) -> bool:
    return any(each.begins <= unix_seconds < each.ends for each in bundle.authorities)


def _check_way(
    webhook: Webhook, services: Sequence[ServiceSeen] | None, served: Served
) -> Iterator[Diagnosis]:
    reference = webhook.service
    if reference is None:
        return
    problem = _path_problem(webhook, reference, served)
    if problem is None and services is not None:
        problem = _service_problem(reference, services, served)
    if problem is not None:
        yield WEBHOOK_UNREACHABLE.found(
            _about(webhook),
            problem,
            f"service: {reference.namespace}/{reference.name}:{reference.port}"
            f"{reference.path}",
        )


def _path_problem(
    webhook: Webhook, reference: ServiceReference, served: Served
) -> str | None:
    if reference.path not in served.webhook_paths:
        known = ", ".join(sorted(served.webhook_paths))
        return f"its path is not served; these are: {known}"
    if webhook.is_mutating and reference.path == "/validate":
        return "it changes pods, and its path only judges them"
    return None


def _service_problem(
    reference: ServiceReference, services: Sequence[ServiceSeen], served: Served
) -> str | None:
    by_name = {(each.namespace, each.name): each for each in services}
    found = by_name.get((reference.namespace, reference.name))
    if found is None:
        return "its Service does not exist"
    ports = dict(found.ports)
    if reference.port not in ports:
        offered = ", ".join(str(port) for port in ports) or "none"
        return f"its Service has no port {reference.port}; it has {offered}"
    target = ports[reference.port]
    if isinstance(target, int) and target != served.webhook_port:
        return f"its Service leads to port {target}, not {served.webhook_port}"
    if found.ready_endpoints == 0:
        return "its Service has no ready endpoint"
    return None


def _check_failure(webhook: Webhook) -> Iterator[Diagnosis]:
    about = _about(webhook)
    if webhook.is_mutating and not webhook.fails_closed:
        yield WEBHOOK_FAILS_OPEN.found(
            about, "pods are created unchanged without it", "failurePolicy: Ignore"
        )
    if not webhook.is_mutating and webhook.fails_closed:
        yield WEBHOOK_STOPS_QUOTA_PODS.found(
            about, "pods cannot be created without it", "failurePolicy: Fail"
        )


def _check_pods(webhook: Webhook, demand: Demand) -> Iterator[Diagnosis]:
    about = _about(webhook)
    if not webhook.conditions:
        yield WEBHOOK_ASKS_ABOUT_EVERY_POD.found(
            about, "it is called for every new pod", "matchConditions: none"
        )
    else:
        left_out = [
            name
            for kind in demand.kinds
            if kind.type_word in demand.present
            for name in kind.resources
            if not _is_named(name, webhook.conditions)
        ]
        if left_out:
            yield WEBHOOK_LEAVES_RESOURCE_OUT.found(
                about,
                "its match conditions leave resources out",
                f"not named: {', '.join(left_out)}",
            )
    if webhook.narrows_namespaces:
        yield WEBHOOK_NARROWS_NAMESPACES.found(
            about,
            "it asks about pods of some namespaces only",
            *(f"namespaceSelector: {each}" for each in webhook.narrows_namespaces),
        )


def _is_named(resource: str, conditions: Sequence[str]) -> bool:
    """Whether an expression has a resource as a text of its own."""
    quoted = [f"{quote}{resource}{quote}" for quote in _QUOTES]
    return any(each in condition for condition in conditions for each in quoted)
