"""Every kind of trouble that the state can show, with what to do about it."""

from typing import Final

from extender.verbs.diagnosis import Severity, Trouble

LEAKED_LOCK: Final = Trouble(
    "LeakedLock",
    Severity.WARNING,
    "A node's lock names a pod that does not need it. Binds to the node wait until the "
    "lock is taken over by its age.",
    "gpu-extender doctor --fix releases it, and so does a running extender by itself; "
    "see why its owner left it",
)
LEAKED_OWN_LOCK: Final = Trouble(
    "LeakedOwnLock",
    Severity.WARNING,
    "A lock that one kind of card has besides the common one is held, and no pod on "
    "the node waits for devices. Its plugin should have removed it.",
    "restart the device plugin on the node; a bind takes the lock over by its age",
)
POD_NOT_SERVED: Final = Trouble(
    "PodNotServed",
    Severity.ERROR,
    "A pod is bound, and no device plugin has handed out its devices. While the node's "
    "lock names it, nobody else is bound to the node.",
    "read the device plugin's log on the node and restart it; else delete the pod, so "
    "that its owner makes another",
)
ALLOCATION_UNREADABLE: Final = Trouble(
    "AllocationUnreadable",
    Severity.ERROR,
    "What a bound pod holds cannot be read. The cards that it names, or all of the "
    "node's, take nothing new.",
    "write the annotation as it was, or delete the pod",
)
ALLOCATION_LOST: Final = Trouble(
    "AllocationLost",
    Severity.WARNING,
    "The allocation of a bound pod was removed, or became unreadable. It is charged by "
    "what was read last, which a restart of the extender does not know any more.",
    "write the annotation as it was, or delete the pod; see who may patch pods "
    "(docs/guarding.md)",
)
ALLOCATION_EDITED: Final = Trouble(
    "AllocationEdited",
    Severity.WARNING,
    "The allocation of a bound pod was changed. Its containers have what they had, so "
    "it is charged for the larger of old and new.",
    "delete the pod where that is too much; see who may patch pods (docs/guarding.md)",
)
ALLOCATION_MISSING: Final = Trouble(
    "AllocationMissing",
    Severity.WARNING,
    "A pod was bound by something that writes no allocation: which cards it uses is "
    "not known, and only its device ids are counted.",
    "give it the scheduler's name that the extender serves, and make it anew",
)
ALLOCATION_NAMES_UNKNOWN_CARD: Final = Trouble(
    "AllocationNamesUnknownCard",
    Severity.WARNING,
    "A pod holds a card that its node does not register: it was taken out, or its "
    "plugin gives it another UUID.",
    "see whether the card is still in the node; delete the pod once it is not",
)
ALLOCATION_DIFFERS_FROM_SPEC: Final = Trouble(
    "AllocationDiffersFromSpec",
    Severity.ERROR,
    "A pod holds something else than its containers ask for.",
    "see who wrote the allocation, or which setting changed since (default memory, "
    "names of resources); make the pod anew",
)
ALLOCATION_LEFTOVER: Final = Trouble(
    "AllocationLeftover",
    Severity.NOTE,
    "A pod that is not bound carries annotations of an allocation: copied from another "
    "pod, or of a bind that failed. They count for nothing.",
    "take them out of the manifest or template where they stand there",
)
REQUEST_UNREADABLE: Final = Trouble(
    "RequestUnreadable",
    Severity.WARNING,
    "A pod asks for devices in a way that cannot be honoured. It is refused on every "
    "node.",
    "correct the container's limits or the pod's annotations",
)
SETTING_IGNORED: Final = Trouble(
    "SettingIgnored",
    Severity.NOTE,
    "A pod's annotation has a value that means nothing; the default is used instead.",
    "correct the annotation (docs/users.md)",
)
OVERFULL_PLACED: Final = Trouble(
    "CardOverfullPlaced",
    Severity.ERROR,
    "A pod was bound to a card without room for it. Where the extender bound it, that "
    "is a fault of the extender.",
    "find in the decision log who bound the pods named here; delete one of them; "
    "report a fault with gpu-extender snapshot",
)
OVERFULL_RE_INFLATED: Final = Trouble(
    "CardOverfullReInflated",
    Severity.WARNING,
    "Inits of a pod run again, or its allocation was edited: it counts more than it "
    "did, and the room had been given to others.",
    "nothing: it ends as the inits do; release: never keeps the room (docs/users.md)",
)
OVERFULL_INHERITED: Final = Trouble(
    "CardOverfullInherited",
    Severity.WARNING,
    "A card held too much when the extender, or this look, began: why is not known.",
    "delete one of the pods named here; see who else binds pods to these nodes",
)
OVERFULL_SHRUNK: Final = Trouble(
    "CardOverfullShrunk",
    Severity.WARNING,
    "A node registers less of a card than its pods hold.",
    "see why its device plugin registers less (split count, memory scaling)",
)
REGISTER_UNREADABLE: Final = Trouble(
    "RegisterUnreadable",
    Severity.ERROR,
    "What a node registers cannot be read: its cards of that kind do not count, and "
    "pods are refused there.",
    "see which device plugin wrote it, and its version (docs/kinds.md)",
)
PLUGIN_SILENT: Final = Trouble(
    "PluginSilent",
    Severity.ERROR,
    "A node registers cards, and kubelet offers none: no device plugin is alive. Pods "
    "are refused there.",
    "kubectl get pods -A --field-selector spec.nodeName=NODE, and restart the device "
    "plugin",
)
NODE_UNKNOWN: Final = Trouble(
    "NodeUnknown",
    Severity.WARNING,
    "Pods hold devices on a node that the API does not show.",
    "delete the pods by force once the node is certain to be gone",
)
NODE_NOT_AS_WRITTEN: Final = Trouble(
    "NodeNotAsWritten",
    Severity.WARNING,
    "Something of a node cannot be read; its cards count nevertheless.",
    "correct the annotation that is named",
)
CARDS_UNHEALTHY: Final = Trouble(
    "CardsUnhealthy",
    Severity.WARNING,
    "A device plugin calls cards unusable. They take nothing new; pods on them go on.",
    "look for XID errors in the node's kernel log; drain the node to reset the card",
)
CARDS_CORDONED: Final = Trouble(
    "CardsCordoned",
    Severity.NOTE,
    "An administrator closed cards to new work.",
    "take them out of hami.io/device-cordon once they are to be used again",
)
QUOTA_UNREADABLE: Final = Trouble(
    "QuotaUnreadable",
    Severity.ERROR,
    "A quota cannot be read as it is now. It goes on to limit by what was read last, "
    "or lets nothing in.",
    "correct the ResourceQuota",
)
QUOTA_EXCEEDED: Final = Trouble(
    "QuotaExceeded",
    Severity.WARNING,
    "A namespace's pods are charged more than its quota allows: it was lowered, or "
    "pods were bound by something else.",
    "raise the quota or delete pods: gpu-extender quota tells who is charged what",
)
QUOTA_NOT_AS_WRITTEN: Final = Trouble(
    "QuotaNotAsWritten",
    Severity.NOTE,
    "Some of a quota is not enforced as it is written.",
    "see docs/quota.md for the keys that are",
)
AUDIT_DIFFERENCE: Final = Trouble(
    "AuditDifference",
    Severity.ERROR,
    "What was kept up event by event is not what the pods add up to: a fault of the "
    "extender. A running one has counted anew already.",
    "report it with gpu-extender snapshot",
)
CATALOGUE: Final = (
    LEAKED_LOCK,
    LEAKED_OWN_LOCK,
    POD_NOT_SERVED,
    ALLOCATION_UNREADABLE,
    ALLOCATION_LOST,
    ALLOCATION_EDITED,
    ALLOCATION_MISSING,
    ALLOCATION_NAMES_UNKNOWN_CARD,
    ALLOCATION_DIFFERS_FROM_SPEC,
    ALLOCATION_LEFTOVER,
    REQUEST_UNREADABLE,
    SETTING_IGNORED,
    OVERFULL_PLACED,
    OVERFULL_RE_INFLATED,
    OVERFULL_INHERITED,
    OVERFULL_SHRUNK,
    REGISTER_UNREADABLE,
    PLUGIN_SILENT,
    NODE_UNKNOWN,
    NODE_NOT_AS_WRITTEN,
    CARDS_UNHEALTHY,
    CARDS_CORDONED,
    QUOTA_UNREADABLE,
    QUOTA_EXCEEDED,
    QUOTA_NOT_AS_WRITTEN,
    AUDIT_DIFFERENCE,
)
"""In the order of the pages."""
