"""What a vendor demands of a request, as one small function per rule.

A rule takes what is asked of each device so far, and gives what is asked of it then,
or refuses the amount that the container names. `Kind.rules` names those that hold, in
their order; a rule finds its numbers in the kind.

Source: HAMi v2.10, pkg/device/<vendor>; where a rule differs, it says so.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from extender.core.claims import ResourceClaim
from extender.core.company import Trait
from extender.core.kinds import Kind, RequestRule
from extender.core.names import MAX_INT32
from extender.core.pod_request import ContainerRequest, Sharing
from extender.core.profiles import ProfileWish
from extender.errors import BadQuantity

_ALL_PERCENT: Final = 100


@dataclass(frozen=True, slots=True)
class Asking:
    """Who asks, and in which words.

    Attributes:
        claim: What the container names; its count is at least 1, or missing where
            amounts may be named alone.
        kind: Of device.
        container_name: For the error.
    """

    claim: ResourceClaim
    kind: Kind
    container_name: str

    @property
    def takes_several(self) -> bool:
        """Whether the container asks for more than one device."""
        return (self.claim.count or 0) > 1

    def refused(
        self, resource: str | None, amount: object, expected: str
    ) -> BadQuantity:
        """Make the error; `expected` completes "is not"."""
        field = f"container {self.container_name!r}: {resource}"
        return BadQuantity(field, amount, expected)


def count_listed(request: ContainerRequest, asking: Asking) -> ContainerRequest:
    """Refuse counts that the vendor does not hand out.

    Source: kunlun, whose cards are linked in groups. Example: 3 of 1, 2, 4, 8.
    """
    counts = asking.kind.counts
    if request.count not in counts:
        known = ", ".join(map(str, counts))
        raise asking.refused(
            asking.kind.count_resource, request.count, f"one of {known}"
        )
    return request


def count_even(request: ContainerRequest, asking: Asking) -> ContainerRequest:
    """Refuse odd counts: two devices are one module.

    HAMi's webhook makes 1 a 2 at creation. Here 1 is refused: kubelet counts what the
    pod says, and the plugin refuses a row of another length.

    Source: ascend, key superPod. Example: 3, which is no whole number of modules.
    """
    if request.count % 2:
        raise asking.refused(
            asking.kind.count_resource,
            request.count,
            f"even: two are one module, so ask for {request.count + 1}",
        )
    return request


def count_alone(request: ContainerRequest, _asking: Asking) -> ContainerRequest:
    """Ask for devices, and for no amount of memory or cores.

    Source: vastai and biren, whose rows hold 0 of both. Example: 1 card, 0 MiB, 0 %.
    """
    return ContainerRequest(request.count, 0, 0, 0, Sharing.BY_SLOT)


def whole_cards(request: ContainerRequest, asking: Asking) -> ContainerRequest:
    """Ask for all memory and all cores of each device.

    Source: enflame's gcu, metax' gpu, kunlun's xpu. Example: 2 cards, 100 % of both.
    """
    return replace(
        request,
        memory_mib=None,
        memory_percent=_ALL_PERCENT,
        core_percent=asking.kind.whole_card_cores,
    )


def several_whole(request: ContainerRequest, asking: Asking) -> ContainerRequest:
    """Ask for all of each device where there are several.

    What is named is for all of them together, so it may be up to count times a device.

    Source: mthreads' webhook, which overwrites both amounts. Example: 2 cards with 64
    units are 2 whole cards; 2 cards of at most 96 units with 200 are refused.
    """
    if not asking.takes_several:
        return request
    kind, claim = asking.kind, asking.claim
    largest = kind.memory_sizes[-1].memory_mib // kind.unit_mib
    for resource, amount, most in (
        (kind.memory_resource, claim.memory, largest * request.count),
        (kind.core_resource, claim.cores, kind.whole_card_cores * request.count),
    ):
        if amount is not None and amount > most:
            whole = f"at most {most}, all of {request.count} cards; leave it out"
            raise asking.refused(resource, amount, whole)
    return whole_cards(request, asking)


def several_all_cores(request: ContainerRequest, asking: Asking) -> ContainerRequest:
    """Ask for all cores of each device where there are several.

    Source: iluvatar's webhook, which names 100 times the count, and its fit, which cuts
    that to 100. Example: 2 cards with 30 % are 2 cards with 100 %.
    """
    if not asking.takes_several:
        return request
    return replace(request, core_percent=asking.kind.whole_card_cores)


def several_not_sliced(request: ContainerRequest, asking: Asking) -> ContainerRequest:
    """Refuse less than all memory where there are several devices.

    Source: ascend's webhook, "vNPU not supported for multiple devices". Example: 2
    devices of 65536 MiB with 16384.
    """
    kind = asking.kind
    if asking.takes_several and request.memory_mib != kind.whole_card_mib:
        raise asking.refused(
            kind.memory_resource,
            asking.claim.memory,
            f"all memory of a device: {request.count} of them are given whole, so "
            "leave it out",
        )
    return request


def memory_listed(request: ContainerRequest, asking: Asking) -> ContainerRequest:
    """Take the sizes that one device can be cut into, and no other.

    Naming no memory asks for the whole device.

    Source: mthreads' webhook. Example: 5 of 2, 4, 8, 16, 32, 64, 96.
    """
    if asking.takes_several:
        return request
    if not asking.claim.memory:
        return whole_cards(request, asking)
    kind = asking.kind
    sizes = [each.memory_mib for each in kind.memory_sizes]
    if request.memory_mib not in sizes:
        known = ", ".join(str(size // kind.unit_mib) for size in sizes)
        raise asking.refused(
            kind.memory_resource,
            asking.claim.memory,
            f"one of {known}; the unit is {kind.memory_unit}",
        )
    return request


def memory_raised(request: ContainerRequest, asking: Asking) -> ContainerRequest:
    """Raise memory to the next size, above them all to the whole device.

    Naming no memory asks for the whole device. What is shared in software is not cut,
    so it is not raised.

    Source: trimMemory of ascend and of kunlun's vxpu. HAMi gives a whole device to who
    names more than there is; here that is refused. Example: of 8192, 16384 and a whole
    of 32768: 5000 is 8192, 20000 is 32768.
    """
    kind = asking.kind
    wanted = request.memory_mib
    if wanted is None:
        return replace(request, memory_mib=kind.whole_card_mib, memory_percent=0)
    if wanted > kind.most_memory_mib:
        factor = kind.unit_mib
        raise asking.refused(
            kind.memory_resource,
            asking.claim.memory,
            f"at most {kind.most_memory_mib // factor}, all of a device; the unit is "
            f"{kind.memory_unit}",
        )
    if asking.claim.shares_in_software:
        return request
    sizes = (each.memory_mib for each in kind.memory_sizes)
    raised = next((size for size in sizes if wanted <= size), kind.whole_card_mib)
    return replace(request, memory_mib=raised)


def cores_by_memory(request: ContainerRequest, asking: Asking) -> ContainerRequest:
    """Ask for the same part of the cores as of the memory, rounded down.

    Source: kunlun's vxpu. Example: 24576 of 98304 MiB are 25 %.
    """
    wanted = request.memory_mib or 0
    percent = wanted * _ALL_PERCENT // asking.kind.whole_card_mib
    return replace(request, core_percent=percent)


def cores_in_software(request: ContainerRequest, asking: Asking) -> ContainerRequest:
    """Refuse cores where the device is cut by its driver, which sets them itself.

    Source: ascend. HAMi takes cores for the wish to share in software, and looks at the
    annotation only when it is the plugin's turn. Example: 30 without the annotation.
    """
    kind = asking.kind
    if asking.claim.cores is not None and not asking.claim.shares_in_software:
        raise asking.refused(
            kind.core_resource,
            asking.claim.cores,
            f"allowed without pod annotation {kind.software_annotation}: hami-core",
        )
    return request


def cores_of_card(request: ContainerRequest, asking: Asking) -> ContainerRequest:
    """Ask for a part of the cores that each device registers; all where none is named.

    Source: amd, whose cards count compute units. Example: 25 of a card of 304 units
    are 76.
    """
    cores = asking.claim.cores
    if cores is not None and not 1 <= cores <= _ALL_PERCENT:
        raise asking.refused(
            asking.kind.core_resource, cores, "a percentage from 1 to 100"
        )
    return replace(request, cores_of_card=True)


def class_on_one_card(request: ContainerRequest, asking: Asking) -> ContainerRequest:
    """Refuse several devices where the pod has an application class.

    Source: metax' webhook. Example: 2 cards by a pod of class offline.
    """
    if asking.claim.app_class is not None and request.count != 1:
        raise asking.refused(
            asking.kind.count_resource,
            request.count,
            f"1, all that {asking.kind.app_class_annotation} allows",
        )
    return request


def online_without_cores(request: ContainerRequest, asking: Asking) -> ContainerRequest:
    """Ask for no cores where the pod's class is online: it takes them from others.

    Source: metax' fit. Example: 100 % beside two offline pods with 50 % each.
    """
    if asking.claim.app_class is not Trait.ONLINE:
        return request
    return replace(request, core_percent=0, sharing=Sharing.BY_MEMORY)


def count_or_cores(_request: ContainerRequest, asking: Asking) -> ContainerRequest:
    """Ask for whole devices, or for cores: one of a device, or all of some.

    Source: awsneuron. HAMi gives one device fewer cores than an odd number asks for,
    and ignores cores beside a count. Example: 1 core is half a device, 4 are 2 devices.
    """
    kind, claim = asking.kind, asking.claim
    whole = kind.whole_card_cores
    if claim.count is not None:
        if claim.cores is not None:
            beside = (
                f"allowed beside {kind.count_resource}: devices come with all cores"
            )
            raise asking.refused(kind.core_resource, claim.cores, beside)
        return ContainerRequest(claim.count, 0, 0, whole, Sharing.BY_SLOT)
    cores = claim.cores or 0
    if cores > MAX_INT32:
        in_range = f"in the range 1 to {MAX_INT32}"
        raise asking.refused(kind.core_resource, cores, in_range)
    count, rest = divmod(cores, whole)
    if rest and count:
        all_or_few = f"1, or a multiple of {whole}: a device has {whole}"
        raise asking.refused(kind.core_resource, cores, all_or_few)
    return ContainerRequest(count or 1, 0, 0, rest or whole, Sharing.BY_SLOT)


def profile(_request: ContainerRequest, asking: Asking) -> ContainerRequest:
    """Ask for the smallest profile of one device with so many slots, or so much of it.

    Source: enflame's drs. HAMi ignores memory and cores beside a number of slots.
    Example: 3 is ``3g.20gb``; 20 GB, or 20000 MiB, is that as well.
    """
    kind, claim = asking.kind, asking.claim
    for resource, amount in (
        (kind.memory_resource, claim.memory),
        (kind.core_resource, claim.cores),
    ):
        if claim.count is not None and amount is not None:
            beside = f"allowed beside {kind.count_resource}, which names the profile"
            raise asking.refused(resource, amount, beside)
    if (claim.cores or 0) > _ALL_PERCENT:
        raise asking.refused(kind.core_resource, claim.cores, "at most 100")
    wish = ProfileWish(claim.count, claim.memory or 0, claim.cores or 0)
    return ContainerRequest(1, 0, 0, 0, profile=wish)


def shared_equally(request: ContainerRequest, _asking: Asking) -> ContainerRequest:
    """Join only containers that have the same memory.

    Source: kunlun's vxpu. Example: 24576 beside 24576, and not beside 49152.
    """
    return replace(request, sharing=Sharing.EQUALLY)


REQUEST_RULES: Final[
    Mapping[RequestRule, Callable[[ContainerRequest, Asking], ContainerRequest]]
] = MappingProxyType(
    {
        RequestRule.COUNT_LISTED: count_listed,
        RequestRule.COUNT_EVEN: count_even,
        RequestRule.COUNT_ALONE: count_alone,
        RequestRule.WHOLE_CARDS: whole_cards,
        RequestRule.SEVERAL_WHOLE: several_whole,
        RequestRule.SEVERAL_ALL_CORES: several_all_cores,
        RequestRule.SEVERAL_NOT_SLICED: several_not_sliced,
        RequestRule.MEMORY_LISTED: memory_listed,
        RequestRule.MEMORY_RAISED: memory_raised,
        RequestRule.CORES_BY_MEMORY: cores_by_memory,
        RequestRule.CORES_IN_SOFTWARE: cores_in_software,
        RequestRule.CORES_OF_CARD: cores_of_card,
        RequestRule.CLASS_ON_ONE_CARD: class_on_one_card,
        RequestRule.ONLINE_WITHOUT_CORES: online_without_cores,
        RequestRule.COUNT_OR_CORES: count_or_cores,
        RequestRule.PROFILE: profile,
        RequestRule.SHARED_EQUALLY: shared_equally,
    }
)
