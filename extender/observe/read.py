"""What is read from the state when it is scraped."""

from typing import Final

from extender.observe.spec import Label, MetricSpec, counter, gauge
from extender.observe.words import COLLECTIONS
from extender.state.holdings import Footing
from extender.state.overfull import Cause
from extender.verbs.shadow import Outcome

MOST_QUOTA_KEYS: Final = 1_000
"""Keys that are shown, by namespace and name of the object; anybody who may create
namespaces could make any number of them."""

_CAUSE: Final = Label("cause", tuple(Cause))
_QUOTA: Final = (
    Label("namespace", meaning="of the ResourceQuota"),
    Label("resource_quota", meaning="its name"),
    Label("key", meaning="as the object has it, such as `limits.nvidia.com/gpumem`"),
)

BUILD_INFO: Final = gauge(
    "build_info",
    "Always 1.",
    Label("version", meaning="of this program"),
    Label("python_version", meaning="of Python"),
)
READY: Final = gauge(
    "ready",
    "1 once nodes, pods and quotas were listed and applied.",
    look_when="it stays 0: the log says what cannot be listed",
)
NODES: Final = gauge("nodes", "Nodes that are known.")
PODS: Final = gauge(
    "pods", "Pods that are known: those that ask for devices or hold some."
)
PODS_BY_FOOTING: Final = gauge(
    "pods_by_footing",
    "Pods by why they count as they do.",
    Label("footing", tuple(footing.value for footing in Footing)),
    look_when="`unreadable allocation`: cards or nodes are closed until it is mended. "
    "`unmanaged`: somebody else placed them, and nothing is charged",
)
RESERVATIONS: Final = gauge(
    "reservations",
    "Places held for pods that are not shown bound yet.",
    look_when="it does not go back to 0 in a quiet cluster",
)
EXPECTED_PODS: Final = gauge(
    "expected_pods",
    "Pods that were admitted and count against quotas, but are not shown yet.",
    look_when="it stays up: somebody else than the API server asks, or another webhook "
    "refuses pods",
)
PHASES_RELEASED: Final = counter(
    "phases_released_total",
    "Phases of init containers that ended, so that what only they needed is free.",
)
PHASES_RE_INFLATED: Final = counter(
    "phases_re_inflated_total",
    "Phases of init containers that count again, since they may run again.",
    look_when="it rises: sandboxes are lost, and cards may hold more than they have",
)
OVERFULL_CARDS: Final = gauge(
    "overfull_cards",
    "Cards that bound pods hold more of than there is, by cause.",
    _CAUSE,
)
OVERFULL_CARDS_SEEN: Final = counter(
    "overfull_cards_seen_total",
    "Times that a card became overfull, by cause. Placed: bound without room.",
    _CAUSE,
    look_when="`placed` is not 0: see [architecture.md](architecture.md#state)",
)
LOCKED_NODES: Final = gauge(
    "locked_nodes", "Nodes whose lock is held, or that binds of ours are at."
)
STUCK_NODES: Final = gauge(
    "stuck_nodes",
    "Nodes whose lock a pod keeps that waits for its devices, for longer than a bind "
    "waits.",
    look_when="not 0: the node's device plugin does not serve it",
)
QUOTA_USED: Final = gauge(
    "quota_used",
    "What pods are charged of a key of a ResourceQuota: devices, MiB or percent.",
    *_QUOTA,
    unit="of the key",
    look_when="it is above the limit: inits run again, or the limit was lowered",
)
QUOTA_LIMIT: Final = gauge(
    "quota_limit",
    "What a key of a ResourceQuota allows: devices, MiB or percent. None where it "
    "cannot be read.",
    *_QUOTA,
    unit="of the key",
)
QUOTA_KEYS: Final = gauge(
    "quota_keys",
    f"Keys of ResourceQuotas that are enforced; {MOST_QUOTA_KEYS} at most are shown.",
    look_when=f"above {MOST_QUOTA_KEYS}: not all are shown",
)
QUOTAS_UNREADABLE: Final = gauge(
    "quotas_unreadable",
    "ResourceQuotas that cannot be read, as a whole or a key that is enforced.",
    look_when="not 0: pods of their namespaces may wait for nothing but this; mend "
    "the object, `gpu-extender quota` and the log name it",
)
SEARCHES: Final = counter(
    "placement_searches_total",
    "Nodes that were searched, since choosing card by card did not fit.",
)
SEARCH_STEPS: Final = counter(
    "placement_search_steps_total",
    "Sets of cards that searches tried for a container.",
)
SEARCHES_EXHAUSTED: Final = counter(
    "placement_searches_exhausted_total",
    "Nodes that were not decided, since the steps of a search ran out.",
    look_when="it rises: pods are refused that may fit; see "
    "[PlacementSearchExhausted](reasons.md#not-decided)",
)
WATCH_SILENCE_SECONDS: Final = gauge(
    "watch_silence_seconds",
    "Since a watch was heard of; bookmarks come about once a minute.",
    Label("collection", COLLECTIONS),
    unit="seconds",
    look_when="above 180: the API server does not answer, and what is known grows old. "
    "Not shown of an embedded cluster",
)

SHADOW_DECISIONS: Final = counter(
    "shadow_decisions_total",
    "Decisions of the other scheduler, by how they compare with ours.",
    Label("outcome", tuple(Outcome)),
    look_when="in shadow mode alone; see [shadow.md](shadow.md#what-it-tells)",
)

READ: Final[tuple[MetricSpec, ...]] = (
    BUILD_INFO,
    READY,
    NODES,
    PODS,
    PODS_BY_FOOTING,
    RESERVATIONS,
    EXPECTED_PODS,
    PHASES_RELEASED,
    PHASES_RE_INFLATED,
    OVERFULL_CARDS,
    OVERFULL_CARDS_SEEN,
    LOCKED_NODES,
    STUCK_NODES,
    QUOTA_USED,
    QUOTA_LIMIT,
    QUOTA_KEYS,
    QUOTAS_UNREADABLE,
    SEARCHES,
    SEARCH_STEPS,
    SEARCHES_EXHAUSTED,
    WATCH_SILENCE_SECONDS,
    SHADOW_DECISIONS,
)
