"""What the doctor tells: one trouble, its evidence, and what to do."""

from dataclasses import dataclass
from enum import StrEnum

from extender.core.names import NodeName


class Severity(StrEnum):
    """How bad a trouble is; the worst comes first."""

    ERROR = "error"
    """Pods are refused or overcommitted by it, or will be."""
    WARNING = "warning"
    """Something is not as it should be; pods are still placed right."""
    NOTE = "note"
    """To be known; nothing needs to be done."""


@dataclass(frozen=True, slots=True)
class LockRelease:
    """The one thing that can be done safely: to release a lock that nobody needs.

    Attributes:
        node: Whose lock it is.
        value: Which it must still have.
    """

    node: NodeName
    value: str

    def __str__(self) -> str:
        """Tell what is done."""
        return f"release the lock of node {self.node}, if it still is {self.value}"


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
        fix: What ``doctor --fix`` does about it; None where that would not be safe.
    """

    code: str
    severity: Severity
    about: str
    summary: str
    evidence: tuple[str, ...]
    remedy: str
    fix: LockRelease | None = None


@dataclass(frozen=True, slots=True)
class Trouble:
    """A kind of trouble.

    Attributes:
        code: Of its diagnoses.
        severity: Of each of them.
        meaning: What it means for pods.
        remedy: What to do about it.
    """

    code: str
    severity: Severity
    meaning: str
    remedy: str

    def found(
        self, about: str, summary: str, *evidence: str, fix: LockRelease | None = None
    ) -> Diagnosis:
        """Diagnose it."""
        return Diagnosis(
            self.code, self.severity, about, summary, evidence, self.remedy, fix
        )
