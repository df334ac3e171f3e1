"""What goes wrong with a bind: a text for people, and a word to count by."""

from typing import Self

from extender.observe.words import BindRefusal


class Refused(str):
    """What went wrong with a bind, as kube-scheduler is told; it is never empty.

    Attributes:
        why: The same as a word of a closed set.
    """

    __slots__ = ("why",)
    why: BindRefusal

    def __new__(cls, why: BindRefusal, text: str) -> Self:
        """Put word and text together."""
        made = super().__new__(cls, text)
        made.why = why
        return made


def why_refused(problem: str) -> BindRefusal:
    """Give the word for a text; one without a word is the API server's."""
    return problem.why if isinstance(problem, Refused) else BindRefusal.API_ERROR
