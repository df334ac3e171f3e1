"""Versions of the API server and of kube-scheduler."""

from collections.abc import Iterator
from typing import Final

from extender.verbs.diagnosis import Diagnosis
from extender.verbs.installation.catalogue import (
    VERSION_SKEW,
    VERSION_TOO_OLD,
    VERSION_UNTRIED,
)
from extender.verbs.installation.documents import Version

OLDEST: Final = (1, 30)
"""Match conditions of webhooks and ValidatingAdmissionPolicy are stable from here."""

TRIED: Final = (1, 36)
"""The newest that the tests run."""

_SKEW: Final = 1
"""Minor versions that kube-scheduler may be older than the API server."""


def check_versions(
    api_server: Version | None, kube_scheduler: Version | None
) -> Iterator[Diagnosis]:
    """Tell of versions that do not go together, or are not known to.

    Source: Kubernetes' version skew policy.
    """
    if api_server is None:
        return
    told = f"kube-apiserver: {api_server.text}"
    number = api_server.major, api_server.minor
    if number < OLDEST:
        yield VERSION_TOO_OLD.found(
            "cluster", "its Kubernetes is too old", told, "needed: v1.30"
        )
    elif number > TRIED:
        newest = ".".join(map(str, TRIED))
        yield VERSION_UNTRIED.found(
            "cluster", "its Kubernetes is newer than was tried", told, f"v{newest}"
        )
    if kube_scheduler is None:
        return
    behind = api_server.minor - kube_scheduler.minor
    if api_server.major != kube_scheduler.major or not 0 <= behind <= _SKEW:
        yield VERSION_SKEW.found(
            "kube-scheduler",
            "its version does not go with the API server's",
            told,
            f"kube-scheduler: {kube_scheduler.text}",
        )
