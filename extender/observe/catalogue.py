"""Every metric that there is."""

from typing import Final

from extender.observe.counted import COUNTED
from extender.observe.devices import DEVICE_METRICS
from extender.observe.hami import HAMI_METRICS
from extender.observe.read import READ
from extender.observe.spec import MetricSpec

CATALOGUE: Final[tuple[MetricSpec, ...]] = (
    *COUNTED,
    *READ,
    *DEVICE_METRICS,
)
"""Those that are shown, but for what only an API server, TLS or shadow mode gives."""

WITH_HAMI: Final[tuple[MetricSpec, ...]] = (*CATALOGUE, *HAMI_METRICS)
"""Those with HAMi's names, too."""
