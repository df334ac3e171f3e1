"""What metrics read from the state when they are scraped."""

import platform
from collections import Counter
from collections.abc import Callable, Sized
from importlib.metadata import version
from itertools import islice

from extender.observe import read
from extender.observe.devices import device_steps
from extender.observe.hami import hami_steps
from extender.observe.logs import dropped_lines
from extender.observe.metrics import Metrics
from extender.observe.spec import MetricSpec
from extender.service.event_writer import EventWriter
from extender.settings import ObserveSettings
from extender.state.holdings import Footing
from extender.state.ledger_view import LedgerView
from extender.state.overfull import Cause
from extender.state.quotas import Quotas

_Figures = dict[tuple[str, ...], float]


def show_state(
    metrics: Metrics,
    ledger: LedgerView,
    settings: ObserveSettings,
    *,
    is_synced: Callable[[], bool],
    expected_count: Callable[[], int],
    locked_nodes: Callable[[], Sized],
    stuck_nodes: Callable[[], Sized],
) -> None:
    """Let metrics read what they need not be told.

    Args:
        metrics: Are scraped.
        ledger: Is read.
        settings: What is shown.
        is_synced: Tells whether requests are answered.
        expected_count: Counts pods that were admitted and are not shown yet.
        locked_nodes: Gives the nodes whose lock is held.
        stuck_nodes: Gives those whose lock is held for too long.
    """

    def show(spec: MetricSpec, figure: Callable[[], float]) -> None:
        metrics.show(spec, lambda: {"": figure()})

    build: tuple[str, ...] = (version("gpu-extender"), platform.python_version())
    metrics.show(read.BUILD_INFO, lambda: {build: 1.0})
    show(read.READY, is_synced)
    show(read.NODES, lambda: len(ledger.nodes))
    show(read.PODS, lambda: len(ledger.pods))
    metrics.show(read.PODS_BY_FOOTING, lambda: _count_footings(ledger))
    show(read.RESERVATIONS, lambda: ledger.reservation_count)
    show(read.EXPECTED_PODS, expected_count)
    phases = ledger.phase_counts
    show(read.PHASES_RELEASED, lambda: phases.released)
    show(read.PHASES_RE_INFLATED, lambda: phases.re_inflated)
    metrics.show(read.OVERFULL_CARDS, lambda: _count_causes(ledger))
    seen = ledger.overfull.seen
    metrics.show(
        read.OVERFULL_CARDS_SEEN,
        lambda: {each.value: seen.get(each, 0) for each in Cause},
    )
    show(read.LOCKED_NODES, lambda: len(locked_nodes()))
    show(read.STUCK_NODES, lambda: len(stuck_nodes()))
    searches = ledger.fleet.searches
    show(read.SEARCHES, lambda: searches.nodes)
    show(read.SEARCH_STEPS, lambda: searches.steps)
    show(read.SEARCHES_EXHAUSTED, lambda: searches.exhausted)
    _show_quotas(metrics, ledger.quotas)
    metrics.show_in_steps(device_steps(ledger, settings.device_rows))
    if settings.shows_hami_names:
        metrics.show_in_steps(hami_steps(ledger, settings.device_rows))


def show_told(metrics: Metrics, events: EventWriter) -> None:
    """Let metrics read what was told outside of answers, and what was given up."""
    metrics.show(read.EVENTS_WRITTEN, lambda: {"": events.written})
    metrics.show(read.EVENTS_DROPPED, lambda: {"": events.dropped})
    metrics.show(read.LOG_LINES_DROPPED, lambda: {"": dropped_lines()})


def _show_quotas(metrics: Metrics, quotas: Quotas) -> None:
    """Let metrics read quotas; a limit that cannot be read has no figure."""
    metrics.show(read.QUOTA_USED, lambda: _used(quotas))
    metrics.show(read.QUOTA_LIMIT, lambda: _limits(quotas))
    metrics.show(
        read.QUOTA_KEYS, lambda: {"": sum(len(quota.limits) for quota in quotas)}
    )
    metrics.show(read.QUOTAS_UNREADABLE, lambda: {"": _unreadable(quotas)})


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
    return dict(islice(figures, read.MOST_QUOTA_KEYS))


def _limits(quotas: Quotas) -> _Figures:
    figures = (
        ((quota.namespace, quota.name, limit.key), limit.most)
        for quota in quotas
        for limit in quota.limits
    )
    return {
        labels: float(most)
        for labels, most in islice(figures, read.MOST_QUOTA_KEYS)
        if most is not None
    }


def _count_causes(ledger: LedgerView) -> dict[str, float]:
    causes = Counter(
        cause for cards in ledger.overfull.causes.values() for cause in cards.values()
    )
    return {cause.value: causes[cause] for cause in Cause}


def _count_footings(ledger: LedgerView) -> dict[str, float]:
    counts = ledger.footing_counts()
    return {footing.value: counts.get(footing, 0) for footing in Footing}
