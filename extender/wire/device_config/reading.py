"""From a device configuration to kinds."""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

import yaml

from extender.core.kinds import Kind
from extender.wire.device_config.block import Block
from extender.wire.device_config.document import read_document
from extender.wire.device_config.nvidia import nvidia_kinds
from extender.wire.device_config.problems import Problems
from extender.wire.device_config.shared import (
    amd_kinds,
    cambricon_kinds,
    drs_kinds,
    hygon_kinds,
    iluvatar_kinds,
    kunlun_shared_kinds,
    metax_shared_kinds,
    mthreads_kinds,
    vnpu_kinds,
)
from extender.wire.device_config.whole import (
    awsneuron_kinds,
    biren_kinds,
    gcu_kinds,
    kunlun_whole_kinds,
    metax_whole_kinds,
    vastai_kinds,
)

_VENDORS: Final[Mapping[str, tuple[Callable[[Block], Iterator[Kind]], ...]]] = (
    MappingProxyType(
        {
            "nvidia": (nvidia_kinds,),
            "cambricon": (cambricon_kinds,),
            "hygon": (hygon_kinds,),
            "enflame": (gcu_kinds, drs_kinds),
            "mthreads": (mthreads_kinds,),
            "metax": (metax_whole_kinds, metax_shared_kinds),
            "kunlun": (kunlun_whole_kinds, kunlun_shared_kinds),
            "awsneuron": (awsneuron_kinds,),
            "amd": (amd_kinds,),
            "vastai": (vastai_kinds,),
            "biren": (biren_kinds,),
        }
    )
)


def read_device_config(content: bytes, source: str) -> tuple[Kind, ...]:
    """Read HAMi's device-config.yaml.

    A vendor whose block is missing, or has no names, gives no kind. HAMi's flags
    ``--enable-ascend`` and ``--enable-iluvatar`` have no like: what is listed counts.

    Args:
        content: The file.
        source: Where it comes from, for the error.

    Returns:
        One kind per resource that counts devices, in the order of HAMi's table.

    Raises:
        BadDeviceConfig: Something is wrong; the error has all of it, by line.

    Source: HAMi v2.10, pkg/scheduler/config and the configuration of each vendor.

    Example:
        >>> text = b"vastai: {resourceCountName: vastaitech.com/va}"
        >>> [kind.type_word for kind in read_device_config(text, "file")]
        ['Vastai']
    """
    problems = Problems(source)
    root = Block(read_document(content, source), "", problems)
    _refuse_config_map(root)
    found = list(_all(root))
    root.finish()
    for block, kind in found:
        _claim_names(block, kind)
    if not found and not problems.found:
        expected = "there: no block names a resource that counts devices"
        problems.add(root.node, "a vendor", None, expected)
    problems.raise_any()
    return tuple(kind for _, kind in found)


def _all(root: Block) -> Iterator[tuple[Block, Kind]]:
    for vendor, readers in _VENDORS.items():
        block = root.block(vendor)
        if block is not None:
            for reader in readers:
                yield from ((block, kind) for kind in reader(block))
            block.finish()
    for block in root.blocks("iluvatars"):
        yield from ((block, kind) for kind in iluvatar_kinds(block))
        block.finish()
    yield from _vnpus(root)


def _vnpus(root: Block) -> Iterator[tuple[Block, Kind]]:
    if isinstance(root.value("vnpus"), yaml.SequenceNode):  # HAMi up to v2.8
        yield from _npus(root.blocks("vnpus"), is_software_everywhere=False)
        return
    vnpus = root.block("vnpus")
    if vnpus is None:
        return
    everywhere = vnpus.flag("hamiVnpuCore")
    yield from _npus(vnpus.blocks("configs"), is_software_everywhere=everywhere)
    vnpus.finish()


def _npus(
    blocks: Iterator[Block], *, is_software_everywhere: bool
) -> Iterator[tuple[Block, Kind]]:
    for block in blocks:
        kinds = vnpu_kinds(block, is_software_everywhere=is_software_everywhere)
        yield from ((block, kind) for kind in kinds)
        block.finish()


def _claim_names(block: Block, kind: Kind) -> None:
    """Find words that two kinds have, or that make the same annotation of both."""
    if not kind.type_word:  # reported where it was read
        return
    node, key = block.place("commonWord")
    owner = f"{key} ({kind.type_word})"
    for what, name in (
        ("word", kind.type_word),
        ("annotation", kind.register_annotation),
        ("annotation", kind.allocated_annotation),
    ):
        if name is not None and not block.problems.claim(node, owner, name, what):
            return


def _refuse_config_map(root: Block) -> None:
    """Tell who gives the object that holds the file what to give."""
    node, _ = root.place("kind")
    if isinstance(node, yaml.ScalarNode) and node.value == "ConfigMap":
        expected = "what is read: give the file that is in it"
        root.problems.add(node, "kind", "'ConfigMap'", expected)
        root.problems.raise_any()
