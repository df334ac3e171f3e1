"""What quotas allow and what is used of them, as figures for metrics."""

from itertools import islice
from typing import Final

from extender.observe.metrics import Metrics
from extender.state.quotas import Quotas

MOST_KEYS: Final = 1_000
"""Keys that are shown, by namespace and name of the object; anybody who may create
namespaces could make any number of them."""

_LABELS: Final = ("namespace", "resource_quota", "key")

_Figures = dict[tuple[str, ...], float]


def show_quotas(metrics: Metrics, quotas: Quotas) -> None:
    """Let metrics read quotas; a limit that cannot be read has no figure."""
    metrics.show(
        "quota_used",
        "What pods are charged of a key of a ResourceQuota: devices, MiB or percent.",
        lambda: _used(quotas),
        _LABELS,
    )
    metrics.show(
        "quota_limit",
        "What a key of a ResourceQuota allows: devices, MiB or percent.",
        lambda: _limits(quotas),
        _LABELS,
    )
    metrics.show(
        "quota_keys",
        f"Keys of ResourceQuotas that are enforced; {MOST_KEYS} at most are shown.",
        lambda: {"": sum(len(quota.limits) for quota in quotas)},
    )
    metrics.show(
        "quotas_unreadable",
        "ResourceQuotas that cannot be read, as a whole or a key that is enforced.",
        lambda: {"": _unreadable(quotas)},
    )


def _unreadable(quotas: Quotas) -> int:
    """Count objects of which anything that limits cannot be read."""
    return sum(
        bool(quota.unreadable) or any(each.most is None for each in quota.limits)
        for quota in quotas
    )


def _used(quotas: Quotas) -> _Figures:
    figures = (
        ((quota.namespace, quota.name, use.limit.key), float(use.used))
        for quota in quotas
        for use in quotas.uses(quota)
    )
    return dict(islice(figures, MOST_KEYS))


def _limits(quotas: Quotas) -> _Figures:
    figures = (
        ((quota.namespace, quota.name, limit.key), limit.most)
        for quota in quotas
        for limit in quota.limits
    )
    return {
        labels: float(most)
        for labels, most in islice(figures, MOST_KEYS)
        if most is not None
    }
