"""Blocks of vendors whose cards are given whole or core by core, or not yet."""

from collections.abc import Iterator
from typing import Final

from extender.core.kind_parts import CapacityCards
from extender.core.kinds import (
    Kind,
    RequestRule,
    ServedBy,
    SideAnnotations,
)
from extender.wire.device_config.block import Block
from extender.wire.device_config.nvidia import named

_METAX_MIB: Final = 65_536
_KUNLUN_MIB: Final = 98_304
_GCU_UNITS: Final = 100
"""HAMi counts the memory of these cards in percent."""

_NEURON_CORES: Final = 2
"""Of one device, of the second generation on."""


def gcu_kinds(block: Block) -> Iterator[Kind]:
    """Read the part of block ``enflame`` that is about whole cards."""
    count = block.resource("resourceNameGCU") or ""
    kind = Kind(
        type_word="GCU",
        count_resource=count,
        capacity_cards=CapacityCards(
            resource=count, id_pattern="{node}-GCU-{index}", memory_mib=_GCU_UNITS
        ),
        to_allocate_annotation="hami.io/enflame-gcu-devices-to-allocate",
        allocated_annotation="hami.io/enflame-gcu-devices-allocated",
        rules=(RequestRule.WHOLE_CARDS,),
        served_by=ServedBy.NOTHING,
    )
    yield from named(block, kind, "resourceNameGCU")


def metax_whole_kinds(block: Block) -> Iterator[Kind]:
    """Read the part of block ``metax`` that is about whole cards."""
    count = block.resource("resourceCountName") or ""
    kind = Kind(
        type_word="Metax-GPU",
        count_resource=count,
        capacity_cards=CapacityCards(
            resource=count, id_pattern="{node}-metax-{index}", memory_mib=_METAX_MIB
        ),
        to_allocate_annotation="hami.io/metax-gpu-devices-to-allocate",
        allocated_annotation="hami.io/metax-gpu-devices-allocated",
        rules=(RequestRule.WHOLE_CARDS,),
        served_by=ServedBy.NOTHING,
    )
    yield from named(block, kind, "resourceCountName")


def kunlun_whole_kinds(block: Block) -> Iterator[Kind]:
    """Read the part of block ``kunlun`` that is about whole cards."""
    count = block.resource("resourceCountName") or ""
    kind = Kind(
        type_word="kunlun",
        count_resource=count,
        capacity_cards=CapacityCards(
            resource=count,
            id_pattern="{node}-kunlun-{index}",
            memory_mib=_KUNLUN_MIB,
            numa_nodes=2,
        ),
        allocated_annotation="hami.io/kunlun-allocated",
        side_annotations=SideAnnotations.KUNLUN,
        use_uuid_annotation="baidu.com/use-gpuuuid",
        avoid_uuid_annotation="baidu.com/nouse-gpuuuid",
        rules=(RequestRule.COUNT_LISTED, RequestRule.WHOLE_CARDS),
        counts=(1, 2, 4, 8),
        serves_one_container=True,
        served_by=ServedBy.NOTHING,
    )
    yield from named(block, kind, "resourceCountName")


def awsneuron_kinds(block: Block) -> Iterator[Kind]:
    """Read block ``awsneuron``."""
    count = block.resource("resourceCountName") or ""
    cores = block.resource("resourceCoreName")
    if count and not block.text("resourceCoreName"):
        block.missing("resourceCoreName", "a node's capacity of it is looked at")
    kind = Kind(
        type_word="AWSNeuron",
        count_resource=count,
        core_resource=cores,
        capacity_cards=CapacityCards(
            resource=count,
            id_pattern="{node}-AWSNeuron-{index}",
            slots=_NEURON_CORES,
            core_percent=_NEURON_CORES,
            core_resource=cores,
        ),
        allocated_annotation="hami.io/aws-neuron-devices-allocated",
        use_uuid_annotation="aws.amazon.com/use-neuron-uuid",
        avoid_uuid_annotation="aws.amazon.com/nouse-neuron-uuid",
        side_annotations=SideAnnotations.AWS_NEURON,
        rules=(RequestRule.COUNT_OR_CORES,),
        whole_card_cores=_NEURON_CORES,
        amounts_alone=True,
        tells_cores_apart=True,
        gives_neighbours=True,
        ring_label="node.kubernetes.io/instance-type",
        ring_word="inf",
        inits_return=True,
        served_by=ServedBy.NOTHING,
    )
    yield from named(block, kind, "resourceCountName")


def vastai_kinds(block: Block) -> Iterator[Kind]:
    """Read block ``vastai``."""
    yield from _counted(block, "Vastai", "va", "vastaitech.com")


def biren_kinds(block: Block) -> Iterator[Kind]:
    """Read block ``biren``."""
    yield from _counted(block, "Biren", "biren", "birentech.com")


def _counted(block: Block, word: str, short: str, domain: str) -> Iterator[Kind]:
    kind = Kind(
        type_word=word,
        count_resource=block.resource("resourceCountName") or "",
        register_annotation=f"hami.io/node-{short}-register",
        handshake_annotation=f"hami.io/node-handshake-{short}",
        to_allocate_annotation=f"hami.io/{word}-devices-to-allocate",
        allocated_annotation=f"hami.io/{word}-devices-allocated",
        use_uuid_annotation=f"{domain}/use-gpuuuid",
        avoid_uuid_annotation=f"{domain}/nouse-gpuuuid",
        rules=(RequestRule.COUNT_ALONE,),
    )
    yield from named(block, kind, "resourceCountName")
