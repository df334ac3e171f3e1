"""What went wrong at a bind: the text for kube-scheduler, and what an Event tells."""

from typing import Self

from extender.observe.pod_events import BindFailure


class BindProblem(str):
    """A text that kube-scheduler is told, with its cause.

    Attributes:
        failure: What an Event tells. A problem without one is a plain text: the pod is
            gone, or another.
        codes: Joined codes of reasons, where the pod no longer fits.
    """

    __slots__ = ("codes", "failure")
    codes: str
    failure: BindFailure

    def __new__(cls, text: str, failure: BindFailure, codes: str = "") -> Self:
        """Give a text its cause."""
        problem = super().__new__(cls, text)
        problem.failure = failure
        problem.codes = codes
        return problem
