"""Quota at admission: whatever happens in whichever order, the limit holds."""

from dataclasses import dataclass, replace
from typing import Final

from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from extender.core.names import NodeName, PodUID
from extender.core.pod import Pod
from extender.core.quota_room import Quota, QuotaDimension, QuotaLimit
from extender.core.usage import Usage
from extender.state.events import (
    Expected,
    Lapsed,
    NodeSeen,
    PodGone,
    PodSeen,
    QuotaSeen,
    Reserved,
    Unreserved,
)
from extender.state.ledger import Ledger
from extender.verbs.admit import Schedulers
from extender.verbs.admit_quota import shortages_at_admission, waiting_sums
from extender.verbs.bind import choose_devices
from tests.values import GPU, N1, app, card, init, node, pod, request

LIMIT: Final = 20_000
SECONDS: Final = 30.0
OURS: Final = Schedulers(("gpu-scheduler",))
CARDS: Final = [card(f"GPU-{n}", memory=80_000, index=n) for n in range(4)]

TEMPLATES: Final = {
    "small": (request(app(3_000)), 3_000),
    "two cards": (request(app(4_000, count=2)), 8_000),
    "part": (request(app(None, percent=10)), 8_000),
    "init": (request(init(7_000), app(2_000)), 7_000),
}
"""What pods ask for, and what that comes to, worked out by hand."""


@dataclass
class Admitted:
    """A pod that was let in, and what became of it."""

    pod: Pod
    charge: int
    until: float
    is_shown: bool = False
    is_reserved: bool = False
    is_bound: bool = False


class QuotaAdmission(RuleBasedStateMachine):
    """Admissions beside a plain list of who was let in.

    Attributes:
        admitted: Who counts, by the test's own reckoning.
        now: The clock.
    """

    def __init__(self) -> None:
        super().__init__()
        self.ledger = Ledger()
        self.ledger.apply(NodeSeen(node(N1, *CARDS)))
        limit = QuotaLimit("limits.x", GPU, QuotaDimension.MEMORY, "MiB", LIMIT)
        self.ledger.apply(QuotaSeen(Quota("default", "q", (), (limit,))))
        self.admitted: dict[PodUID, Admitted] = {}
        self.now = 0.0
        self._made = 0

    def counted(self) -> int:
        """Add up everybody who was let in and is not gone, nor overdue."""
        return sum(each.charge for each in self.admitted.values())

    def drop_overdue(self) -> None:
        """By the test's own reckoning."""
        for uid, each in list(self.admitted.items()):
            if not each.is_shown and each.until <= self.now:
                if each.is_reserved:
                    continue
                del self.admitted[uid]

    @rule(name=st.sampled_from(sorted(TEMPLATES)), is_dry=st.booleans())
    def ask(self, name: str, *, is_dry: bool) -> None:
        """It is let in exactly where there is room beside all who count."""
        asked, charge = TEMPLATES[name]
        self._made += 1
        wanted = replace(pod(f"p{self._made}", asked), scheduler_name="gpu-scheduler")
        self.ledger.apply(Lapsed(self.now))
        self.drop_overdue()
        fleet = self.ledger.fleet
        waiting = waiting_sums(fleet, self.ledger.waiting_in("default"), OURS)
        rooms = self.ledger.quota_rooms(wanted, waiting)
        shortages = shortages_at_admission(fleet, wanted, rooms)
        assert bool(shortages) == (self.counted() + charge > LIMIT)
        if not shortages and not is_dry:
            until = self.now + SECONDS
            self.ledger.apply(Expected(wanted, until))
            self.admitted[wanted.uid] = Admitted(wanted, charge, until)

    def drawn(self, data: st.DataObject) -> Admitted:
        """Draw one that was let in."""
        uids = sorted(self.admitted)
        return self.admitted[data.draw(st.sampled_from(uids), label="uid")]

    @precondition(lambda self: self.admitted)
    @rule(data=st.data())
    def show(self, data: st.DataObject) -> None:
        """The watch tells of it, as it is."""
        each = self.drawn(data)
        each.is_shown = True
        self.ledger.apply(PodSeen(each.pod))

    @precondition(lambda self: self.admitted)
    @rule(data=st.data())
    def reserve(self, data: st.DataObject) -> None:
        """Bind finds a place: who was let in stays within the quota there, too."""
        each = self.drawn(data)
        if each.is_bound or each.is_reserved:
            return
        rooms = self.ledger.quota_rooms(each.pod)
        rows = choose_devices(self.ledger.fleet, each.pod, N1, None, rooms=rooms)
        assert rows is not None
        self.ledger.apply(Reserved(each.pod, NodeName(N1), rows))
        each.pod = replace(each.pod, allocation=rows)
        each.is_reserved = True

    @precondition(lambda self: any(e.is_reserved for e in self.admitted.values()))
    @rule(data=st.data(), is_bound=st.booleans())
    def end_the_bind(self, data: st.DataObject, *, is_bound: bool) -> None:
        """It is shown bound, or its Binding was refused."""
        uids = sorted(u for u, each in self.admitted.items() if each.is_reserved)
        uid = data.draw(st.sampled_from(uids), label="uid")
        each = self.admitted[uid]
        each.is_reserved = False
        if is_bound:
            each.is_shown = each.is_bound = True
            each.pod = replace(each.pod, node_name=NodeName(N1))
            self.ledger.apply(PodSeen(each.pod))
        else:
            each.pod = replace(each.pod, allocation=None)
            self.ledger.apply(Unreserved(uid))

    @precondition(lambda self: self.admitted)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        """Waiting or bound."""
        each = self.drawn(data)
        del self.admitted[each.pod.uid]
        self.ledger.apply(PodGone(each.pod.uid))

    @rule(seconds=st.sampled_from([1.0, 29.0, 31.0]))
    def wait(self, seconds: float) -> None:
        """Pods that were let in and did not come, do not come any more."""
        self.now += seconds

    @invariant()
    def the_limit_holds(self) -> None:
        """Bound, reserved, waiting and expected together; and of these, the bound."""
        assert self.counted() <= LIMIT
        (quota,) = self.ledger.quotas
        (use,) = self.ledger.quotas.uses(quota)
        waiting = waiting_sums(
            self.ledger.fleet, self.ledger.waiting_in("default"), OURS
        )
        beside = sum((sums[GPU] for sums in waiting.values()), Usage()).memory_mib
        assert use.used + beside >= self.counted() - self._overdue()
        assert use.used <= use.used + beside <= LIMIT

    def _overdue(self) -> int:
        return sum(
            each.charge
            for each in self.admitted.values()
            if not each.is_shown and not each.is_reserved and each.until <= self.now
        )


def test_limit_holds_whatever_happens() -> None:
    """Admissions, dry runs, deadlines, binds and deletions, in any order."""
    run_state_machine_as_test(QuotaAdmission)
