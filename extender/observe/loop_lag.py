"""How late the event loop is: everything waits for as long as one step holds it."""

import asyncio
from time import monotonic
from typing import Final

from extender.observe.metrics import Metrics

_PERIOD_SECONDS: Final = 0.25
"""Often enough that a hold of a second is seen four times as often as one of a quarter
is; seldom enough to cost nothing."""


async def measure_loop_lag_forever(metrics: Metrics) -> None:
    """Observe, until cancelled, how late a timer comes."""
    while True:
        due = monotonic() + _PERIOD_SECONDS
        await asyncio.sleep(_PERIOD_SECONDS)
        metrics.loop_lag_seconds.observe(max(0.0, monotonic() - due))
