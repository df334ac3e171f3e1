"""The text of a device configuration, as YAML nodes that know their line."""

from typing import Final, NoReturn

import yaml

from extender.errors import BadDeviceConfig, ConfigProblem

MOST_BYTES: Final = 1024 * 1024
"""HAMi's own file has 10 kB."""

_DEEPEST: Final = 16
"""HAMi's own file is 5 levels deep."""


def read_document(content: bytes, source: str) -> yaml.MappingNode:
    """Parse the one document of a file.

    Args:
        content: UTF-8.
        source: Where it comes from, for the error.

    Raises:
        BadDeviceConfig: It is too large, no YAML, no mapping, more than one document,
            nested too deeply, or has aliases: a few lines of them can stand for
            gigabytes. The error tells line and column.
    """
    if len(content) > MOST_BYTES:
        _refuse(source, 1, 1, f"{len(content)} bytes", f"at most {MOST_BYTES} bytes")
    text = _text(content, source)
    try:
        _refuse_bombs(text, source)
        root = yaml.compose(text, Loader=yaml.CSafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        words = " ".join(filter(None, (error.context, error.problem)))
        _refuse(source, line, column, "this", f"YAML: {words}")
    except yaml.YAMLError as error:
        position = getattr(error, "position", 0)
        line = text.count("\n", 0, position) + 1
        _refuse(source, line, 1, "this", f"YAML: {_flat(error)}")
    if root is None:
        _refuse(source, 1, 1, "an empty file", "a block for each vendor")
    if not isinstance(root, yaml.MappingNode):
        mark = root.start_mark
        expected = "a mapping of vendors"
        _refuse(source, mark.line + 1, mark.column + 1, "this", expected)
    return root


def _text(content: bytes, source: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        _refuse(source, line, 1, f"byte {content[error.start]:#04x}", "UTF-8")


def _refuse_bombs(text: str, source: str) -> None:
    """Look at the events, which cost no more than the text is long."""
    depth = documents = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        mark = event.start_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        match event:
            case yaml.AliasEvent():
                name = f"*{event.anchor}"
                _refuse(source, line, column, name, "taken: write it out")
            case yaml.DocumentStartEvent():
                documents += 1
                if documents > 1:
                    expected = "taken: one document is read"
                    _refuse(source, line, column, "another document", expected)
            case yaml.CollectionStartEvent():
                depth += 1
                if depth > _DEEPEST:
                    expected = f"taken: at most {_DEEPEST} levels are"
                    _refuse(source, line, column, "a level below", expected)
            case yaml.CollectionEndEvent():
                depth -= 1
            case _:
                pass


def _refuse(source: str, line: int, column: int, value: str, expected: str) -> NoReturn:
    problem = ConfigProblem(line, column, "", value, expected)
    raise BadDeviceConfig(source, [problem]) from None


def _flat(error: Exception) -> str:
    return " ".join(str(error).split())
