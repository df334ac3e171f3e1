"""docs/diagnoses.md: every kind of trouble that the doctor tells."""

from typing import Final

from extender.verbs.diagnosis import Severity
from extender.verbs.doctor.catalogue import CATALOGUE
from extender.verbs.installation.catalogue import INSTALLATION_CATALOGUE
from pages.markdown import code, page, table

_INTRODUCTION: Final = """\
What `gpu-extender doctor` finds, by code. [doctor.md](doctor.md) has how to ask."""

_MEANING: Final = {
    Severity.ERROR: "pods are refused or overcommitted by it, or will be",
    Severity.WARNING: "something is not as it should be; pods are still placed right",
    Severity.NOTE: "to be known; nothing needs to be done",
}


def diagnoses_page() -> str:
    """Write the page."""
    severities = table(
        ("severity", "means"),
        [(code(each.value), _MEANING[each]) for each in Severity],
    )
    heads = ("code", "severity", "means", "what to do")
    of_state, of_installation = (
        table(
            heads,
            [
                (code(each.code), each.severity.value, each.meaning, each.remedy)
                for each in catalogue
            ],
        )
        for catalogue in (CATALOGUE, INSTALLATION_CATALOGUE)
    )
    return page(
        "What the doctor finds",
        _INTRODUCTION,
        severities,
        "## In the state",
        of_state,
        "## In the installation",
        of_installation,
    )
