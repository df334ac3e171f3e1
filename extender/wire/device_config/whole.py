"""Blocks of vendors whose cards are given whole, or cannot be given yet."""

from collections.abc import Iterator
from typing import Final

from extender.core.kinds import (
    CapacityCards,
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

_NO_DRS: Final = (
    "served: a profile such as 3g.20gb takes several slots of a card, and that is not "
    "built"
)
_NO_NEURON: Final = (
    "served: its plugin is told cores as a bit mask, and that is not built"
)


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


def drs_kinds(block: Block) -> Iterator[Kind]:
    """Read the part of block ``enflame`` that is about parts of cards."""
    block.skip("resourceNameVGCU", "resourceNameVGCUPercentage")
    kind = Kind(
        type_word="Enflame",
        count_resource=block.resource("resourceNameDRSGCU") or "",
        memory_resource=block.resource("resourceNameGCUMemory"),
        core_resource=block.resource("resourceNameGCUCore"),
        allocated_annotation="hami.io/enflame-vgpu-devices-allocated",
        use_uuid_annotation="enflame.com/use-gpuuuid",
        avoid_uuid_annotation="enflame.com/nouse-gpuuuid",
        not_served=_NO_DRS,
        served_by=ServedBy.NOTHING,
    )
    yield from named(block, kind, "resourceNameDRSGCU")


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
    kind = Kind(
        type_word="AWSNeuron",
        count_resource=block.resource("resourceCountName") or "",
        core_resource=block.resource("resourceCoreName"),
        allocated_annotation="hami.io/aws-neuron-devices-allocated",
        use_uuid_annotation="aws.amazon.com/use-neuron-uuid",
        avoid_uuid_annotation="aws.amazon.com/nouse-neuron-uuid",
        not_served=_NO_NEURON,
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
