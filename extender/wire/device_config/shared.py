"""Blocks of vendors whose cards several containers can share."""

from collections.abc import Iterator
from typing import Final

from extender.core.kind_admission import Admission, WrittenAmounts
from extender.core.kind_parts import CapacityCards, MemorySize
from extender.core.kinds import (
    Kind,
    MemoryNotation,
    RegisterForm,
    RequestRule,
    ServedBy,
    SideAnnotations,
)
from extender.core.names import MAX_INT32
from extender.wire.device_config.block import Block
from extender.wire.device_config.nvidia import named

_MLU_UNIT_MIB: Final = 256
_MTHREADS_UNIT_MIB: Final = 512
_MTHREADS_CORES: Final = 16
_MTHREADS_UNITS: Final = 96
_SMALLEST_MTHREADS: Final = 2
_ILUVATAR_UNIT_MIB: Final = 256
_XPU_SIZES_MIB: Final = (24_576, 49_152)
_XPU_MIB: Final = 98_304


def cambricon_kinds(block: Block) -> Iterator[Kind]:
    """Read block ``cambricon``."""
    memory = block.resource("resourceMemoryName")
    cores = block.resource("resourceCoreName")
    kind = Kind(
        type_word="MLU",
        count_resource=block.resource("resourceCountName") or "",
        memory_resource=memory,
        core_resource=cores,
        capacity_cards=CapacityCards(
            resource=cores or "",
            units_per_card=100,
            id_pattern="{node}-cambricon-mlu-{index}",
            slots=100,
            memory_resource=memory,
        ),
        to_allocate_annotation="hami.io/cambricon-mlu-devices-to-allocate",
        allocated_annotation="hami.io/cambricon-mlu-devices-allocated",
        side_annotations=SideAnnotations.CAMBRICON,
        use_uuid_annotation="cambricon.com/use-gpuuuid",
        avoid_uuid_annotation="cambricon.com/nouse-gpuuuid",
        memory_factor=_MLU_UNIT_MIB,
        default_core_percent=100,
        serves_one_container=True,
        served_by=ServedBy.OWN_LOCK,
        own_lock_annotation="cambricon.com/dsmlu.lock",
        # HAMi v2.10 writes the first; Cambricon's plugin reads the second.
        assigned_annotations=("CAMBRICON_DSMLU_ASSIGNED", "CAMBRICON_DSMLU_ASSIGHED"),
    )
    _need_cores_to_count_cards(block, kind)
    yield from named(block, kind, "resourceCountName")


def hygon_kinds(block: Block) -> Iterator[Kind]:
    """Read block ``hygon``."""
    kind = Kind(
        type_word="DCU",
        count_resource=block.resource("resourceCountName") or "",
        memory_resource=block.resource("resourceMemoryName"),
        core_resource=block.resource("resourceCoreName"),
        register_annotation="hami.io/node-dcu-register",
        handshake_annotation="hami.io/node-handshake-dcu",
        to_allocate_annotation="hami.io/dcu-devices-to-allocate",
        allocated_annotation="hami.io/dcu-devices-allocated",
        use_type_annotation="hygon.com/use-dcutype",
        avoid_type_annotation="hygon.com/nouse-dcutype",
        use_uuid_annotation="hygon.com/use-gpuuuid",
        avoid_uuid_annotation="hygon.com/nouse-gpuuuid",
        memory_factor=block.number("memoryFactor", default=1),
        default_core_percent=100,
    )
    yield from named(block, kind, "resourceCountName")


def amd_kinds(block: Block) -> Iterator[Kind]:
    """Read block ``amd``."""
    kind = Kind(
        type_word="AMD",
        count_resource=block.resource("resourceCountName") or "",
        memory_resource=block.resource("resourceMemoryName"),
        core_resource=block.resource("resourceCoreName"),
        register_annotation="hami.io/node-amd-register",
        to_allocate_annotation="hami.io/amd-devices-to-allocate",
        allocated_annotation="hami.io/amd-devices-allocated",
        rows_name_models=True,
        use_type_annotation="amd.com/use-gputype",
        avoid_type_annotation="amd.com/nouse-gputype",
        use_uuid_annotation="amd.com/use-gpu-uuid",
        avoid_uuid_annotation="amd.com/nouse-gpu-uuid",
        default_core_percent=100,
        rules=(RequestRule.CORES_OF_CARD,),
    )
    yield from named(block, kind, "resourceCountName")


def mthreads_kinds(block: Block) -> Iterator[Kind]:
    """Read block ``mthreads``."""
    memory = block.resource("resourceMemoryName")
    cores = block.resource("resourceCoreName")
    kind = Kind(
        type_word="Mthreads",
        count_resource=block.resource("resourceCountName") or "",
        memory_resource=memory,
        core_resource=cores,
        capacity_cards=CapacityCards(
            resource=cores or "",
            units_per_card=_MTHREADS_CORES,
            id_pattern="{node}-mthreads-{index}",
            slots=100,
            memory_resource=memory,
            core_percent=_MTHREADS_CORES,
        ),
        allocated_annotation="hami.io/mthreads-vgpu-devices-allocated",
        side_annotations=SideAnnotations.MTHREADS,
        use_uuid_annotation="mthreads.ai/use-gpuuuid",
        avoid_uuid_annotation="mthreads.ai/nouse-gpuuuid",
        memory_factor=_MTHREADS_UNIT_MIB,
        rules=(RequestRule.MEMORY_LISTED, RequestRule.SEVERAL_WHOLE),
        memory_sizes=_mthreads_sizes(block),
        whole_card_cores=_MTHREADS_CORES,
        serves_one_container=True,
        served_by=ServedBy.NOTHING,
        admission=Admission(
            amounts=WrittenAmounts.WHOLE_DEVICES,
            count_annotation="mthreads.com/request-gpu-num",
        ),
    )
    _need_cores_to_count_cards(block, kind)
    yield from named(block, kind, "resourceCountName")


def _mthreads_sizes(block: Block) -> tuple[MemorySize, ...]:
    """List what a card can be cut into: powers of two, and the card itself.

    Newer files than HAMi v2.10's tell how many units each model of card has.
    """
    cards = block.numbers("memoryPerCard", least=_SMALLEST_MTHREADS, most=2**20)
    units: set[int] = set()
    for card in cards or (_MTHREADS_UNITS,):
        powers = [2**power for power in range(1, card.bit_length())]
        units |= {*powers, card}
    return tuple(MemorySize("", each * _MTHREADS_UNIT_MIB) for each in sorted(units))


def _need_cores_to_count_cards(block: Block, kind: Kind) -> None:
    if kind.count_resource and not block.text("resourceCoreName"):
        expected = "a node's capacity of it tells how many cards there are"
        block.missing("resourceCoreName", expected)


def drs_kinds(block: Block) -> Iterator[Kind]:
    """Read the part of block ``enflame`` that is about parts of cards."""
    block.skip("resourceNameVGCU", "resourceNameVGCUPercentage")
    kind = Kind(
        type_word="Enflame",
        count_resource=block.resource("resourceNameDRSGCU") or "",
        memory_resource=block.resource("resourceNameGCUMemory"),
        core_resource=block.resource("resourceNameGCUCore"),
        register_annotation="enflame.com/gcu-drs-capacity",
        register_form=RegisterForm.ENFLAME_DRS,
        allocated_annotation="hami.io/enflame-vgpu-devices-allocated",
        side_annotations=SideAnnotations.ENFLAME_DRS,
        slots_annotation="assigned-containers",
        use_uuid_annotation="enflame.com/use-gpuuuid",
        avoid_uuid_annotation="enflame.com/nouse-gpuuuid",
        memory_notation=MemoryNotation.GB_OR_MIB,
        rules=(RequestRule.PROFILE,),
        amounts_alone=True,
        serves_one_container=True,
        served_by=ServedBy.NOTHING,
    )
    yield from named(block, kind, "resourceNameDRSGCU")


def metax_shared_kinds(block: Block) -> Iterator[Kind]:
    """Read the part of block ``metax`` that is about shared cards."""
    kind = Kind(
        type_word="Metax-SGPU",
        count_resource=block.resource("resourceVCountName") or "",
        memory_resource=block.resource("resourceVMemoryName"),
        core_resource=block.resource("resourceVCoreName"),
        register_annotation="metax-tech.com/node-gpu-devices",
        register_form=RegisterForm.METAX,
        to_allocate_annotation="hami.io/metax-sgpu-devices-to-allocate",
        allocated_annotation="hami.io/metax-sgpu-devices-allocated",
        side_annotations=SideAnnotations.METAX_SGPU,
        use_uuid_annotation="metax-tech.com/use-gpuuuid",
        avoid_uuid_annotation="metax-tech.com/nouse-gpuuuid",
        qos_annotation="metax-tech.com/sgpu-qos-policy",
        app_class_annotation="metax-tech.com/sgpu-app-class",
        topology_annotation="metax-tech.com/sgpu-topology-aware",
        is_topology_aware=block.flag("sgpuTopologyAware"),
        memory_notation=MemoryNotation.GIB_OR_BYTES,
        default_core_percent=100,
        rules=(RequestRule.CLASS_ON_ONE_CARD, RequestRule.ONLINE_WITHOUT_CORES),
    )
    yield from named(block, kind, "resourceVCountName")


def kunlun_shared_kinds(block: Block) -> Iterator[Kind]:
    """Read the part of block ``kunlun`` that is about shared cards."""
    kind = Kind(
        type_word="XPU",
        count_resource=block.resource("resourceVCountName") or "",
        memory_resource=block.resource("resourceVMemoryName"),
        register_annotation="hami.io/node-register-xpu",
        handshake_annotation="hami.io/node-handshake-xpu",
        to_allocate_annotation="hami.io/xpu-devices-to-allocate",
        allocated_annotation="hami.io/xpu-devices-allocated",
        use_uuid_annotation="hami.io/use-xpu-uuid",
        avoid_uuid_annotation="hami.io/no-use-xpu-uuid",
        rules=(
            RequestRule.MEMORY_RAISED,
            RequestRule.CORES_BY_MEMORY,
            RequestRule.SHARED_EQUALLY,
        ),
        memory_sizes=tuple(MemorySize("", each) for each in _XPU_SIZES_MIB),
        whole_card_mib=_XPU_MIB,
        most_memory_mib=_XPU_MIB,
    )
    yield from named(block, kind, "resourceVCountName")


def iluvatar_kinds(block: Block) -> Iterator[Kind]:
    """Read one entry of list ``iluvatars``."""
    block.skip("chipName")
    count = block.resource("resourceCountName") or ""
    word = block.word("commonWord", is_needed=bool(count))
    kind = Kind(
        type_word=word,
        count_resource=count,
        memory_resource=block.resource("resourceMemoryName"),
        core_resource=block.resource("resourceCoreName"),
        register_annotation=f"hami.io/node-{word}-register",
        handshake_annotation=f"hami.io/node-handshake-{word}",
        to_allocate_annotation=f"hami.io/{word}-devices-to-allocate",
        allocated_annotation=f"hami.io/{word}-devices-allocated",
        use_uuid_annotation=f"hami.io/use-{word}-uuid",
        avoid_uuid_annotation=f"hami.io/no-use-{word}-uuid",
        memory_factor=_ILUVATAR_UNIT_MIB,
        rules=(RequestRule.SEVERAL_ALL_CORES,),
        admission=Admission(
            amounts=WrittenAmounts.ALL_CORES_OF_SEVERAL,
            container_name_env="SOL_CONTINER_NAME",
        ),
    )
    yield from named(block, kind, "resourceCountName")


def vnpu_kinds(block: Block, *, is_software_everywhere: bool) -> Iterator[Kind]:
    """Read one entry of list ``vnpus.configs``.

    Args:
        block: The entry.
        is_software_everywhere: ``vnpus.hamiVnpuCore``.
    """
    block.skip("chipName", "aiCore", "aiCPU")
    count = block.resource("resourceName") or ""
    word = block.word("commonWord", is_needed=bool(count))
    whole = block.number("memoryAllocatable", least=1)
    if count and block.value("memoryAllocatable") is None:
        block.missing("memoryAllocatable", "MiB that a whole device offers")
    pairs = (RequestRule.COUNT_EVEN,) if block.flag("superPod") else ()
    kind = Kind(
        type_word=word,
        count_resource=count,
        memory_resource=block.resource("resourceMemoryName"),
        core_resource=block.resource("resourceCoreName"),
        register_annotation=f"hami.io/node-register-{word}",
        handshake_annotation=f"hami.io/node-handshake-{word}",
        to_allocate_annotation=f"hami.io/{word}-devices-to-allocate",
        allocated_annotation=f"hami.io/{word}-devices-allocated",
        side_annotations=SideAnnotations.ASCEND,
        use_uuid_annotation=f"hami.io/use-{word}-uuid",
        avoid_uuid_annotation=f"hami.io/no-use-{word}-uuid",
        mode_annotation="huawei.com/vnpu-mode",
        software_annotation="huawei.com/vnpu-mode",
        node_software_annotation="hami-vnpu-core",
        is_software_everywhere=is_software_everywhere,
        memory_factor=block.number("memoryFactor", default=1),
        rules=(
            *pairs,
            RequestRule.CORES_IN_SOFTWARE,
            RequestRule.MEMORY_RAISED,
            RequestRule.SEVERAL_NOT_SLICED,
        ),
        memory_sizes=_templates(block, whole),
        whole_card_mib=whole,
        most_memory_mib=max(block.number("memoryCapacity", default=whole), whole),
        admission=Admission(
            least_count=2 if pairs else 1,
            amounts=WrittenAmounts.RAISED_MEMORY,
            hidden_env=("ASCEND_VISIBLE_DEVICES", ""),
            overwrites_env=block.flag("overwriteEnv"),
            runtime_class_name=block.object_name("runtimeClassName"),
        ),
    )
    yield from named(block, kind, "resourceName")


def _templates(block: Block, whole_mib: int) -> tuple[MemorySize, ...]:
    """List what a device can be cut into; no part is larger than the device.

    Who asks for less than such a part would be raised to it, and fit nowhere.
    """
    sizes = []
    for template in block.blocks("templates"):
        template.skip("aiCore", "aiCPU")
        name = template.text("name")
        memory_mib = template.number("memory", least=1, most=whole_mib or MAX_INT32)
        if not name:
            template.missing("name", "what the plugin calls it")
        if template.value("memory") is None:
            template.missing("memory", "MiB")
        template.finish()
        if name and memory_mib:
            sizes.append(MemorySize(name, memory_mib))
    return tuple(sorted(sizes, key=lambda size: size.memory_mib))
