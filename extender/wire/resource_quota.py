"""Kubernetes ResourceQuota objects, reduced to what concerns devices."""

from collections.abc import Iterator
from typing import Final

from extender.core.kind_set import Kinds
from extender.core.kinds import Kind
from extender.core.quota_room import (
    UNLIMITED,
    Quota,
    QuotaDimension,
    QuotaLimit,
    ShownKey,
    dimension_of,
    unit_of,
)
from extender.core.quota_scopes import QuotaScope, ScopeOperator, ScopeRequirement
from extender.errors import BadObject, BadQuantity
from extender.wire.memory_amounts import parse_memory
from extender.wire.objects import (
    JsonObject,
    as_object,
    list_at,
    name_at,
    object_at,
    optional_text_at,
    shown,
)
from extender.wire.quantity import parse_whole

_LIMITS: Final = "limits."
"""Keys that are enforced here. The API server counts none of an extended resource."""

_REQUESTS: Final = "requests."
"""Keys that the API server enforces; they are only shown."""

_DEFAULT_NAMESPACE: Final = "default"

_PLACES_NONE: Final = "until it is, no pod that needs any of it is placed"


def read_quota(obj: object, kinds: Kinds) -> Quota:
    """Read a quota.

    A quantity that cannot be read, has a fraction or is negative is neither 0 nor
    without a limit: the key is kept, with the problem, and then no pod that needs any
    of it is placed. A scope that is not known leaves no pod out, for the same reason.

    Args:
        obj: The JSON object.
        kinds: Give resource names and factors.

    Raises:
        BadObject: Its structure is not a quota's; the error names the field.

    Example:
        >>> from extender.core.kinds import NVIDIA
        >>> hard = {"limits.nvidia.com/gpumem": "10k", "pods": "4"}
        >>> quota = read_quota(
        ...     {"metadata": {"name": "q"}, "spec": {"hard": hard}}, Kinds([NVIDIA])
        ... )
        >>> [(limit.key, limit.most) for limit in quota.limits]
        [('limits.nvidia.com/gpumem', 10000)]
    """
    quota = as_object(obj, "resourcequota")
    metadata = object_at(quota, "metadata", "resourcequota")
    spec = object_at(quota, "spec", "resourcequota")
    status = object_at(quota, "status", "resourcequota")
    hard = object_at(spec, "hard", "spec")
    used = object_at(status, "used", "status")
    warnings: list[str] = []
    scopes = tuple(_scopes(spec, warnings))
    limits = tuple(_limits(hard, kinds, warnings))
    shown_keys = [
        ShownKey(key, _text(hard[key]), _text(used.get(key)))
        for key in sorted(hard)
        if key.startswith(_REQUESTS)
        and key.removeprefix(_REQUESTS) in kinds.by_resource
    ]
    namespace, name = _names(metadata)
    return Quota(
        namespace=namespace,
        name=name,
        scopes=scopes,
        limits=limits,
        shown=tuple(shown_keys),
        warnings=tuple(warnings),
    )


def read_quota_remains(obj: object, kinds: Kinds, problem: str) -> Quota:
    """Read what there is of a quota that `read_quota` cannot read.

    It may be about any pod, so it counts all of its namespace. Keys that are there
    limit as they say; where not even these can be told, every key counts as one that
    cannot be read, and no pod of the namespace gets a device until it is mended.

    Args:
        obj: The JSON object.
        kinds: As for `read_quota`.
        problem: Why it cannot be read.

    Raises:
        BadObject: It has no name: nobody can tell whose pods it limits.

    Example:
        >>> from extender.core.kinds import NVIDIA
        >>> obj = {"metadata": {"name": "q"}, "spec": {"hard": [], "scopes": []}}
        >>> [each.most for each in read_quota_remains(obj, Kinds([NVIDIA]), "?").limits]
        [None, None, None]
    """
    quota = as_object(obj, "resourcequota")
    namespace, name = _names(object_at(quota, "metadata", "resourcequota"))
    warnings: list[str] = []
    try:
        spec = object_at(quota, "spec", "resourcequota")
        limits = tuple(_limits(object_at(spec, "hard", "spec"), kinds, warnings))
    except BadObject:
        limits = tuple(_all_unreadable(kinds, problem))
    return Quota(
        namespace=namespace,
        name=name,
        limits=limits,
        warnings=tuple(warnings),
        unreadable=problem,
    )


def _names(metadata: JsonObject) -> tuple[str, str]:
    namespace = optional_text_at(metadata, "namespace", "metadata")
    return namespace or _DEFAULT_NAMESPACE, name_at(metadata, "name", "metadata")


def _limits(
    hard: JsonObject, kinds: Kinds, warnings: list[str]
) -> Iterator[QuotaLimit]:
    for key in sorted(hard):
        resource = key.removeprefix(_LIMITS)
        if not key.startswith(_LIMITS) or resource not in kinds.by_resource:
            continue
        kind = kinds.by_resource[resource]
        dimension = dimension_of(kind, resource)
        if dimension is None:
            warnings.append(
                f"{key} is not enforced: how much a percentage is depends on the "
                f"card; limit {kind.memory_resource} instead"
            )
            continue
        limit = _limit(key, hard[key], kind, dimension)
        if limit.problem:
            warnings.append(f"{key}: {limit.problem}")
        yield limit


def _all_unreadable(kinds: Kinds, problem: str) -> Iterator[QuotaLimit]:
    for resource, kind in kinds.by_resource.items():
        dimension = dimension_of(kind, resource)
        if dimension is not None:
            unit, why = unit_of(kind, dimension), f"{problem}; {_PLACES_NONE}"
            yield QuotaLimit(
                f"{_LIMITS}{resource}", kind.type_word, dimension, unit, None, why
            )


def _text(value: object) -> str:
    return "" if value is None else str(shown(value))


def _limit(
    key: str, value: object, kind: Kind, dimension: QuotaDimension
) -> QuotaLimit:
    word, unit = kind.type_word, unit_of(kind, dimension)
    try:
        amount = _amount(key, value, kind, dimension)
    except BadQuantity as error:
        problem = f"{error.value!r} is not {error.expected}; {_PLACES_NONE}"
        return QuotaLimit(key, word, dimension, unit, None, problem)
    return QuotaLimit(key, word, dimension, unit, amount)


def _amount(key: str, value: object, kind: Kind, dimension: QuotaDimension) -> int:
    if dimension is QuotaDimension.MEMORY:
        amount = parse_memory(value, kind, key) * kind.unit_mib
    else:
        amount = parse_whole(value, key)
    if amount < 0:
        raise BadQuantity(key, shown(value), "0 or more")
    return min(amount, UNLIMITED)  # neither arrays nor JSON hold larger ones


def _scopes(spec: JsonObject, warnings: list[str]) -> Iterator[ScopeRequirement]:
    """List the scopes of both fields; a pod must be in each of them."""
    for value in list_at(spec, "scopes", "spec"):
        scope = _scope(value, warnings)
        if scope is not None:
            yield ScopeRequirement(scope)
    selector = object_at(spec, "scopeSelector", "spec")
    field = "spec.scopeSelector.matchExpressions"
    for index, value in enumerate(
        list_at(selector, "matchExpressions", "spec.scopeSelector")
    ):
        at = f"{field}[{index}]"
        fields = as_object(value, at)
        scope = _scope(fields.get("scopeName"), warnings)
        if scope is None:
            continue
        operator = fields.get("operator")
        if not isinstance(operator, str) or operator not in _OPERATORS:
            raise BadObject(f"{at}.operator", shown(operator), _OPERATORS_TEXT)
        values = list_at(fields, "values", at)
        names = frozenset(each for each in values if isinstance(each, str))
        if len(names) < len(set(map(str, values))):
            raise BadObject(f"{at}.values", shown(values), "a list of strings")
        yield ScopeRequirement(scope, ScopeOperator(operator), names)


_SCOPES: Final = frozenset(each.value for each in QuotaScope)
_OPERATORS: Final = frozenset(each.value for each in ScopeOperator)
_OPERATORS_TEXT: Final = "In, NotIn, Exists or DoesNotExist"


def _scope(value: object, warnings: list[str]) -> QuotaScope | None:
    if isinstance(value, str) and value in _SCOPES:
        return QuotaScope(value)
    warnings.append(f"scope {shown(value)} is not known: it leaves no pod out")
    return None
