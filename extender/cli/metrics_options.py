"""Options of what metrics show."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from extender.settings import ObserveSettings

_Command = TypeVar("_Command", bound=Callable[..., Any])


def metrics_options(command: _Command) -> _Command:
    """Add ``--metrics-device-rows`` and ``--hami-metrics``, by these names."""
    command = click.option(
        "--hami-metrics",
        is_flag=True,
        help="Show devices, pods and quotas by HAMi's metric names, too, for "
        "dashboards that exist. They name pods.",
    )(command)
    return click.option(
        "--metrics-device-rows",
        metavar="N",
        type=click.IntRange(min=0, max=1_000_000),
        default=ObserveSettings().device_rows,
        show_default=True,
        help="Devices that metrics show one by one at most, at seven samples each; "
        "where there are more, sums by node and model, or by model.",
    )(command)
