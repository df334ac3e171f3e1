"""The guards: whether they are there, deny, and let the extender write."""

from collections.abc import Iterator
from typing import Final

from extender.verbs.diagnosis import Diagnosis
from extender.verbs.installation.catalogue import (
    GUARD_LEAVES_RESOURCE_OUT,
    GUARD_MISSING,
    GUARD_ONLY_TELLS,
    GUARD_REFUSES_US,
    GUARD_WITHOUT_PARAMETERS,
)
from extender.verbs.installation.documents import Demand, Guards, Served

PODS: Final = "gpu-extender-guard-pods"
NODES: Final = "gpu-extender-guard-nodes"
SCHEDULERS: Final = "gpu-extender-guard-schedulers"
PARAMETERS: Final = "gpu-extender-guard"

_DENY: Final = "Deny"
_LIST_OF: Final = {PODS: "accounts", NODES: "accounts", SCHEDULERS: "schedulers"}
"""By whose key of the ConfigMap each lets the extender write."""

_COUNTS: Final = "countResources"


def check_guards(guards: Guards, served: Served, demand: Demand) -> Iterator[Diagnosis]:
    """Tell which guards do not guard, and which refuse the extender."""
    by_name = {each.name: each for each in guards.policies}
    for name in _LIST_OF:
        policy = by_name.get(name)
        about = f"guard {name}"
        if policy is None:
            yield GUARD_MISSING.found(about, "its policy is not installed")
        elif not policy.actions:
            yield GUARD_MISSING.found(
                about, "no ValidatingAdmissionPolicyBinding binds it"
            )
        elif _DENY not in policy.actions:
            told = ", ".join(sorted(policy.actions))
            yield GUARD_ONLY_TELLS.found(
                about, "it does not deny", f"validationActions: {told}"
            )
    if not by_name:
        return
    if guards.parameters is None:
        yield GUARD_WITHOUT_PARAMETERS.found(
            f"configmap {served.namespace}/{PARAMETERS}", "it is missing"
        )
        return
    for name, key in _LIST_OF.items():
        policy = by_name.get(name)
        denies = policy is not None and _DENY in policy.actions
        if denies and served.account not in guards.parameters.get(key, ()):
            yield GUARD_REFUSES_US.found(
                f"guard {name}",
                f"{key} do not name the extender",
                f"the extender is {served.account}",
            )
    known = guards.parameters.get(_COUNTS, ())
    left_out = [
        kind.count_resource
        for kind in demand.kinds
        if kind.type_word in demand.present and kind.count_resource not in known
    ]
    if SCHEDULERS in by_name and left_out:
        yield GUARD_LEAVES_RESOURCE_OUT.found(
            f"guard {SCHEDULERS}",
            f"{_COUNTS} leave cards out that nodes have",
            f"not named: {', '.join(left_out)}",
        )
