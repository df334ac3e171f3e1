"""Options of ``serve`` about logs and Events."""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click

from extender.observe.log_lines import LogFormat
from extender.observe.logs import Decisions, LogLevel, LogSettings
from extender.observe.pod_events import EventSettings

_Command = TypeVar("_Command", bound=Callable[..., Any])


def log_options(command: _Command) -> Callable[..., Any]:
    """Add what is logged and told.

    The command gets them as ``logs``, a `LogSettings`, and ``events``, an
    `EventSettings`.
    """

    @click.option(
        "--log-format",
        type=click.Choice([each.value for each in LogFormat]),
        default=LogFormat.TEXT.value,
        show_default=True,
        help="How log lines are written.",
    )
    @click.option(
        "--log-level",
        type=click.Choice([each.value for each in LogLevel]),
        default=LogLevel.INFO.value,
        show_default=True,
        help="Which log lines are written, decisions apart. SIGUSR1 goes on to the "
        "next.",
    )
    @click.option(
        "--decision-log",
        type=click.Choice([each.value for each in Decisions]),
        default=Decisions.ALL.value,
        show_default=True,
        help="Which decisions get a log line. SIGUSR2 goes on to the next.",
    )
    @click.option(
        "--decision-log-file",
        metavar="FILE",
        type=click.Path(path_type=Path, dir_okay=False),
        help="Append decisions to this file, and not to standard error. It may be "
        "rotated.",
    )
    @click.option(
        "--events/--no-events",
        "is_event_written",
        default=True,
        show_default=True,
        help="Write Events on pods that are refused.",
    )
    @wraps(command)
    def with_settings(
        *,
        log_format: str,
        log_level: str,
        decision_log: str,
        decision_log_file: Path | None,
        is_event_written: bool,
        **others: Any,  # noqa: ANN401 - the command's own options
    ) -> Any:  # noqa: ANN401 - whatever the command gives
        logs = LogSettings(
            format=LogFormat(log_format),
            level=LogLevel(log_level),
            decisions=Decisions(decision_log),
            decision_file=decision_log_file,
        )
        events = EventSettings(is_written=is_event_written)
        return command(logs=logs, events=events, **others)

    return with_settings
