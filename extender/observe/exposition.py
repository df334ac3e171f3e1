"""Prometheus' text format, for families of many samples.

The library writes a sample in about 5 us, which is a second for all devices of a large
cluster. Here a family is lines that were put together beforehand, and it is written in
steps, so that requests are answered between them.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

from extender.observe.spec import MetricSpec

Steps = Iterator[bytes]
"""Pieces of an exposition, some of them empty: between any two, others may have their
turn."""

LINES_AT_A_TIME: Final = 2_000
"""About a millisecond each."""

_ESCAPES: Final = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


def label_text(names: Sequence[str], values: Iterable[str]) -> str:
    r"""Write the labels of a sample.

    Example:
        >>> print(label_text(["node", "model"], ["n1", 'a "b"']))
        {node="n1",model="a \"b\""}
    """
    pairs = zip(names, values, strict=True)
    text = ",".join(f'{name}="{escaped(value)}"' for name, value in pairs)
    return "{" + text + "}"


def escaped(value: str) -> str:
    """Write a label's value, without the quotes around it."""
    return value.translate(_ESCAPES) if not value.isalnum() else value


def head_of(spec: MetricSpec) -> bytes:
    """Write what stands above a family's samples."""
    name, text = spec.scraped_name, spec.text.replace("\\", r"\\")
    return f"# HELP {name} {text}\n# TYPE {name} {spec.type}\n".encode()


def family_steps(spec: MetricSpec, samples: Iterable[tuple[str, object]]) -> Steps:
    """Write a family; nothing of it where there is no sample.

    Args:
        spec: What it is.
        samples: Labels as `label_text` writes them, and the value.
    """
    name, rest = spec.scraped_name, iter(samples)
    head = head_of(spec)
    while lines := [
        f"{name}{labels} {value}\n" for labels, value in islice(rest, LINES_AT_A_TIME)
    ]:
        yield head + "".join(lines).encode("utf-8", "replace")
        head = b""
