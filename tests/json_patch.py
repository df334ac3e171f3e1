"""JSON Patch as RFC 6902 has it, strict and apart from our own."""

import copy
from typing import Any


def patched(document: Any, patch: list[dict[str, Any]]) -> Any:  # noqa: ANN401
    """Apply a patch to a copy.

    Raises:
        AssertionError: An operation is not one that RFC 6902 lets through.
    """
    result = copy.deepcopy(document)
    for operation in patch:
        assert operation.keys() == {"op", "path", "value"}, operation
        assert operation["op"] == "add", operation
        first, *tokens = operation["path"].split("/")
        assert first == "", "a pointer into the document begins with a slash"
        assert tokens, "the whole document is not replaced here"
        steps = [token.replace("~1", "/").replace("~0", "~") for token in tokens]
        parent = result
        for step in steps[:-1]:
            parent = parent[int(step)] if isinstance(parent, list) else parent[step]
        value = copy.deepcopy(operation["value"])
        if isinstance(parent, list):
            index = len(parent) if steps[-1] == "-" else int(steps[-1])
            assert 0 <= index <= len(parent), operation
            parent.insert(index, value)
        else:
            assert isinstance(parent, dict), f"nothing is at the parent of {operation}"
            parent[steps[-1]] = value
    return result
