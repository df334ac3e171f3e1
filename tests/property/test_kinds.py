"""For every kind of the shipped file, whatever a container names."""

from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from extender.core.claims import ResourceClaim
from extender.core.company import APP_CLASSES, Trait
from extender.core.kinds import Kind, RequestRule
from extender.core.names import MAX_INT32
from extender.core.pod_request import ContainerRequest, Sharing
from extender.core.profiles import ProfileWish
from extender.core.requests import container_request, devices_named
from extender.errors import BadDeviceConfig, BadQuantity
from extender.wire.device_config import read_device_config
from tests.shipped import SHIPPED, SHIPPED_FILE
from tests.vendor_places import CLASS, QOS, Place, metax, sgpu

amounts = st.one_of(
    st.none(),
    st.integers(0, 200),
    st.integers(0, 120_000),
    st.integers(-(2**40), 2**40),
)


@st.composite
def claims(draw: st.DrawFn) -> tuple[Kind, ResourceClaim]:
    """Draw a kind, and amounts of the resources that it has."""
    kind = draw(st.sampled_from(sorted(SHIPPED.values(), key=lambda k: k.type_word)))
    return kind, ResourceClaim(
        draw(st.one_of(st.sampled_from([None, 0, 1, 2, 3, 4]), amounts)),
        draw(amounts) if kind.memory_resource else None,
        draw(amounts) if kind.memory_percentage_resource else None,
        draw(amounts) if kind.core_resource else None,
        bool(kind.software_annotation) and draw(st.booleans()),
        draw(st.sampled_from([None, *APP_CLASSES]))
        if kind.app_class_annotation
        else None,
    )


@given(claims())
def test_claim_is_refused_by_name_or_fits_the_kind(
    asked: tuple[Kind, ResourceClaim],
) -> None:
    """There is no third way: nothing is dropped, and nothing is of no size."""
    kind, claim = asked
    try:
        request = container_request(claim, kind, "train")
    except BadQuantity as error:
        container, _, resource = error.field.partition(": ")
        assert container == "container 'train'"
        assert resource in kind.resources
        return
    assert request.count == devices_named(claim, kind)
    if request.count:
        assert complaints(kind, claim, request) == []


def complaints(
    kind: Kind, claim: ResourceClaim, request: ContainerRequest
) -> list[str]:
    """List what of a request its kind could not cut from a card."""
    rules = set(kind.rules)
    is_whole = request.memory_mib is None and request.memory_percent == 100
    sizes = {size.memory_mib for size in kind.memory_sizes} | {kind.whole_card_mib}
    named_mib = (claim.memory or 0) * kind.memory_factor
    wrong = {
        "memory out of range": not 0 <= (request.memory_mib or 0) <= MAX_INT32,
        "cores out of range": not 0 <= request.core_percent <= kind.whole_card_cores,
        "less memory than is named": request.memory_mib is not None
        and kind.counts_memory
        and request.profile is None
        and request.memory_mib < min(named_mib, kind.whole_card_mib or named_mib),
        "a size that cannot be cut": bool(kind.memory_sizes)
        and not is_whole
        and not claim.shares_in_software
        and request.memory_mib not in sizes,
        "several cards that are cut": request.count > 1
        and not rules.isdisjoint(
            {RequestRule.SEVERAL_WHOLE, RequestRule.SEVERAL_NOT_SLICED}
        )
        and not (is_whole or request.memory_mib == kind.whole_card_mib),
        "a part of a card that is given whole": RequestRule.WHOLE_CARDS in rules
        and not (is_whole and request.core_percent == 100),
        "a count that is not handed out": bool(kind.counts)
        and request.count not in kind.counts,
        "half a module": RequestRule.COUNT_EVEN in rules and request.count % 2 == 1,
        "cores that its rows could not name": RequestRule.CORES_OF_CARD in rules
        and not (request.cores_of_card and 1 <= request.core_percent <= 100),
        "cores of an online pod": claim.app_class is Trait.ONLINE
        and (request.core_percent, request.count) != (0, 1),
        "memory of 0": request.memory_mib == 0
        and request.sharing is not Sharing.BY_SLOT
        and request.profile is None,
        "a profile of nothing": request.profile == ProfileWish(),
        "other cores than are named": RequestRule.COUNT_OR_CORES in rules
        and claim.cores is not None
        and request.count * request.core_percent != claim.cores,
        "a part of a device that is counted": RequestRule.COUNT_OR_CORES in rules
        and claim.cores is None
        and request.core_percent != kind.whole_card_cores,
    }
    return [text for text, is_so in wrong.items() if is_so]


COMING: Final = st.tuples(
    st.sampled_from([None, "online", "offline"]),
    st.sampled_from([None, "best-effort", "fixed-share", "burst-share"]),
    st.integers(1, 30),
    st.sampled_from([0, 20, 50, 100]),
    st.booleans(),
)
"""A pod's class, policy, GiB, cores, and whether the pod before it ends first."""


@given(st.lists(COMING, min_size=1, max_size=8))
def test_pods_meet_on_metax_cards_as_they_agree(
    coming: list[tuple[str | None, str | None, int, int, bool]],
) -> None:
    """A pod is placed exactly where some card has room and only such as it may meet."""
    place = Place("Metax-SGPU", metax("GPU-a", "GPU-b"))
    there: dict[str, list[tuple[str, str | None, str, int, int]]] = {
        "GPU-a": [],
        "GPU-b": [],
    }
    last: str | None = None
    for number, (app_class, policy, gib, cores, ends) in enumerate(coming):
        if ends and last is not None:
            place.end(last)
            for card, pods in there.items():
                there[card] = [each for each in pods if each[0] != last]
            last = None
        words = {CLASS: app_class, QOS: policy}
        annotations = {name: word for name, word in words.items() if word}
        name = f"p{number}"
        own = policy or "best-effort"
        taken = 0 if app_class == "online" else cores
        asking = place.read(name, sgpu(gib, cores), annotations)
        is_open = {
            card: all(_may_meet(each[1], each[2], app_class, own) for each in pods)
            and sum(each[3] for each in pods) + gib <= 64
            and len(pods) < 16
            and (
                app_class == "online"
                or _has_cores(sum(each[4] for each in pods), cores, len(pods))
            )
            for card, pods in there.items()
        }
        assert (place.why_not(asking) is None) == any(is_open.values())
        if any(is_open.values()):
            (card,) = place.bind(name, sgpu(gib, cores), annotations)
            assert is_open[card]
            there[card].append((name, app_class, own, gib, taken))
            last = name


def _may_meet(
    its_class: str | None, its_policy: str, own_class: str | None, own_policy: str
) -> bool:
    """Whether a pod may come to one that is there; online ones have no policy."""
    if (its_class is None) != (own_class is None):
        return False
    if its_class == "online":
        return own_class == "online"
    return own_class == "online" or its_policy == own_policy


def _has_cores(used: int, asked: int, pods: int) -> bool:
    if asked == 0:
        return used < 100
    return used + asked <= 100 and (asked < 100 or pods == 0)


SHIPPED_TEXT: Final = SHIPPED_FILE.read_text(encoding="utf-8")
PIECES: Final = ("", "x", ":", "- ", "{", "]", "*a", "&a ", "'", "\n", "\t", "-1", "[]")


@given(
    st.lists(
        st.tuples(
            st.integers(0, len(SHIPPED_TEXT) - 1),
            st.integers(0, 40),
            st.sampled_from(PIECES),
        ),
        min_size=1,
        max_size=3,
    )
)
def test_file_with_mistakes_is_read_or_refused_by_line(
    edits: list[tuple[int, int, str]],
) -> None:
    """Whatever is mistyped, the lines that are told are lines of the file."""
    text = SHIPPED_TEXT
    for at, length, piece in edits:
        text = text[:at] + piece + text[at + length :]
    check(text.encode())


@given(st.binary(max_size=200))
def test_garbage_is_refused_by_line(content: bytes) -> None:
    """It never ends in another error."""
    check(content)


def check(content: bytes) -> None:
    """Read a file; where that fails, look at what is told."""
    try:
        kinds = read_device_config(content, "file")
    except BadDeviceConfig as error:
        last = content.count(b"\n") + content.count(b"\r") + 2
        lines = [problem.line for problem in error.problems]
        assert lines == sorted(lines)
        assert lines
        assert 1 <= lines[0] <= lines[-1] <= last
        return
    words = [kind.type_word for kind in kinds]
    assert words
    assert len(set(words)) == len(words)
    assert all(kind.count_resource for kind in kinds)
