"""Quotas that cannot be read, or are exceeded."""

from collections.abc import Iterator

from extender.core.quota_room import LimitUse, Quota
from extender.state.ledger_view import LedgerView
from extender.verbs.diagnosis import Diagnosis
from extender.verbs.doctor.catalogue import (
    QUOTA_EXCEEDED,
    QUOTA_NOT_AS_WRITTEN,
    QUOTA_UNREADABLE,
)


def check_quota(ledger: LedgerView, quota: Quota) -> Iterator[Diagnosis]:
    """Tell what is wrong with a quota, and with what is used of it."""
    about = f"resourcequota {quota.namespace}/{quota.name}"
    if quota.unreadable:
        yield QUOTA_UNREADABLE.found(about, quota.unreadable)
    for use in ledger.quotas.uses(quota):
        limit = use.limit
        if limit.most is None:
            yield QUOTA_UNREADABLE.found(about, f"{limit.key}: {limit.problem}")
        elif use.used > limit.most:
            yield QUOTA_EXCEEDED.found(
                about,
                f"{limit.key}: {_amount(use)} {limit.unit} are charged, "
                f"{limit.most} allowed",
            )
    for warning in quota.warnings:
        yield QUOTA_NOT_AS_WRITTEN.found(about, warning)


def _amount(use: LimitUse) -> str:
    return "an unknown number of" if use.known_use is None else str(use.known_use)
