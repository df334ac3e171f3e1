"""What one pod holds on one node, whatever the reason that it is counted."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from extender.core.company import NO_TRAITS, Traits
from extender.core.names import DeviceUUID, KindWord, NodeName
from extender.core.usage import Charge


@dataclass(frozen=True, slots=True)
class Holding:
    """One pod's part in the totals of its node.

    Attributes:
        node_name: Where it counts.
        charge: Per device; devices that the node does not show are kept, and count
            once the node shows them again.
        kubelet_slots: Device ids that kubelet keeps for the pod, by kind.
        quarantined: Devices that count as full, since the pod's allocation names
            them but cannot be read.
        is_exclusive: Whether nobody may join the pod on its devices.
        hides: Kinds of which the pod may hold devices that its allocation does not
            tell. Where the node has none of `quarantined`, it takes no new pods that
            ask for such.
        slices: Of each device that it holds instances of, how many of these hold each
            slice; as `extender.core.phases.held_slices`.
        traits: What the pod is to others on its devices.
        cores: Of each device of which cores are told apart, those that it can still
            hold, as bits.
        released: Devices that its allocation names, and that it is not charged for
            any more.
    """

    node_name: NodeName
    charge: Charge
    kubelet_slots: Mapping[KindWord, int] = field(default_factory=dict, hash=False)
    quarantined: tuple[DeviceUUID, ...] = ()
    hides: frozenset[KindWord] = frozenset()
    is_exclusive: bool = False
    slices: Mapping[DeviceUUID, tuple[int, ...]] = field(default_factory=dict)
    released: tuple[DeviceUUID, ...] = ()
    traits: Traits = NO_TRAITS
    cores: Mapping[DeviceUUID, int] = field(default_factory=dict)

    def mistakes(self, device_uuid: DeviceUUID, *, is_mig: bool) -> bool:
        """Whether a device's mode is another than the pod's allocation goes by.

        On a card in MIG mode it must tell which instances the pod has, and of any other
        it cannot have some. What it holds of such a card is not known.
        """
        is_named = device_uuid in self.charge or device_uuid in self.released
        return is_named and is_mig is not (device_uuid in self.slices)
