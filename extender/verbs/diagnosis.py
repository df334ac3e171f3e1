"""What the doctor tells: one trouble, its evidence, and what to do."""

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """How bad a trouble is."""

    ERROR = "error"
    """Pods are refused or overcommitted by it, or will be."""
    WARNING = "warning"
    """Something is not as it should be; pods are still placed right."""
    NOTE = "note"
    """To be known; nothing needs to be done."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One trouble.

    Attributes:
        code: What kind of trouble, in CamelCase; the pages list every one by it.
        severity: How bad.
        about: What it is about, such as ``node gpu-a10-01`` or ``pod team/train-0``.
        summary: What is wrong, in one line.
        evidence: What was read that shows it: names, values and ages.
        remedy: What to do, with the command where there is one.
    """

    code: str
    severity: Severity
    about: str
    summary: str
    evidence: tuple[str, ...]
    remedy: str
