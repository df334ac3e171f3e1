"""What stands below the fields of a class, which Python itself does not keep."""

import ast
import inspect
from typing import Any


def field_docs(of: type[Any]) -> dict[str, str]:
    """Give the text below each field of a class, in their order."""
    body = ast.parse(inspect.getsource(of)).body[0]
    if not isinstance(body, ast.ClassDef):
        raise TypeError(f"{of} is no class of its own")
    return {
        field.target.id: str(text.value.value)
        for field, text in zip(body.body, body.body[1:], strict=False)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
    }
