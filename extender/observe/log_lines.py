"""What a log line looks like: text or JSON, one line each, safe whatever it holds."""

import json
import logging
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

from extender.observe.decision_log import Decision, json_fields
from extender.observe.printable import printable

REQUEST_ID_ATTRIBUTE: Final = "request_id"
"""Of a log record, where the request's id stands."""

_INDENT: Final = "    "


class LogFormat(StrEnum):
    """How lines are written."""

    TEXT = "text"
    JSON = "json"


def formatter(log_format: LogFormat) -> logging.Formatter:
    """Give what writes records in a format."""
    return JsonLines() if log_format is LogFormat.JSON else TextLines()


class TextLines(logging.Formatter):
    """``time LEVEL logger: message``, and the request's id at the end.

    Lines that begin with a blank go on with the one before: a traceback.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Write a record."""
        request_id = _request_id(record)
        line = (
            f"{_time(record)} {record.levelname} {record.name}: "
            f"{printable(record.getMessage())}"
            f"{f' request_id={request_id}' if request_id else ''}"
        )
        if not record.exc_info:
            return line
        trace = self.formatException(record.exc_info).splitlines()
        return "\n".join([line, *(f"{_INDENT}{printable(each)}" for each in trace)])


class JsonLines(logging.Formatter):
    """One object a line, as ``docs/decision-log.schema.json`` has it; pure ASCII."""

    def format(self, record: logging.LogRecord) -> str:
        """Write a record."""
        shown: dict[str, object] = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
        }
        if request_id := _request_id(record):
            shown["request_id"] = request_id
        # `msg` may be any object, though its stub says otherwise.
        said: object = record.msg
        if isinstance(said, Decision):
            shown |= json_fields(said)
        else:
            shown["message"] = record.getMessage()
        if record.exc_info:
            shown["exception"] = self.formatException(record.exc_info)
        # Escapes all but ASCII, so that no text can move a terminal's cursor; a JSON
        # string escapes the rest itself, but for DEL.
        return json.dumps(shown, separators=(",", ":")).replace("\x7f", "\\u007f")


def _request_id(record: logging.LogRecord) -> str:
    request_id: str = getattr(record, REQUEST_ID_ATTRIBUTE, "")
    return request_id


def _time(record: logging.LogRecord) -> str:
    moment = datetime.fromtimestamp(record.created, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{int(record.msecs):03}Z"
