"""HAMi's device-config.yaml: what is read of it, and all that is wrong with it."""

from dataclasses import replace
from textwrap import dedent

import pytest

from extender.core.kind_parts import MemorySize
from extender.core.kinds import NVIDIA, Kind, RequestRule
from extender.errors import BadDeviceConfig
from extender.wire.device_config import read_device_config
from extender.wire.device_config.document import MOST_BYTES
from tests.shipped import SHIPPED


def read(text: str) -> tuple[Kind, ...]:
    """Read a file."""
    return read_device_config(dedent(text).encode(), "file")


def problems(text: str | bytes) -> list[str]:
    """Read a file that is wrong, and list what is."""
    content = text if isinstance(text, bytes) else dedent(text).encode()
    with pytest.raises(BadDeviceConfig) as refused:
        read_device_config(content, "file")
    return [str(problem) for problem in refused.value.problems]


def test_shipped_file_has_every_vendor() -> None:
    """Each kind of HAMi v2.10's table, and NVIDIA as it is without a file."""
    assert list(SHIPPED) == [
        *("NVIDIA", "MLU", "DCU", "GCU", "Enflame", "Mthreads", "Metax-GPU"),
        *("Metax-SGPU", "kunlun", "XPU", "AWSNeuron", "AMD", "Vastai", "Biren"),
        *("MR-V100", "MR-V50", "BI-V150", "BI-V100"),
        *("Ascend910A", "Ascend910B2", "Ascend910B3", "Ascend910B4-1", "Ascend910B4"),
        *("Ascend310P", "Ascend910C"),
    ]
    assert SHIPPED["NVIDIA"] == NVIDIA


def test_kinds_can_be_told_apart_and_hashed() -> None:
    """Requests are remembered by their kind."""
    assert len(set(SHIPPED.values())) == len(SHIPPED)
    names = [name for kind in SHIPPED.values() for name in kind.resources]
    assert len(set(names)) == len(names)


def test_only_what_shares_in_software_returns_an_inits_share() -> None:
    """And Neuron's cores, which are not cut. Of others, a part is, or may be."""
    returning = [word for word, kind in SHIPPED.items() if kind.inits_return]
    assert returning == ["NVIDIA", "AWSNeuron"]


def test_annotations_are_made_of_the_word() -> None:
    """Of the lists, where several kinds have one block's schema."""
    npu, ilu = SHIPPED["Ascend910B4-1"], SHIPPED["BI-V100"]
    assert npu.register_annotation == "hami.io/node-register-Ascend910B4-1"
    assert npu.handshake_annotation == "hami.io/node-handshake-Ascend910B4-1"
    assert npu.to_allocate_annotation == "hami.io/Ascend910B4-1-devices-to-allocate"
    assert npu.use_uuid_annotation == "hami.io/use-Ascend910B4-1-uuid"
    assert ilu.register_annotation == "hami.io/node-BI-V100-register"
    assert ilu.allocated_annotation == "hami.io/BI-V100-devices-allocated"


def test_templates_come_smallest_first() -> None:
    """Whatever their order in the file."""
    (kind,) = read("""
        vnpus:
          hamiVnpuCore: true
          configs:
            - commonWord: N
              resourceName: x.com/N
              memoryAllocatable: 100
              templates: [{name: b, memory: 50}, {name: a, memory: 20, aiCore: 1}]
        """)
    assert kind.memory_sizes == (MemorySize("a", 20), MemorySize("b", 50))
    assert (kind.whole_card_mib, kind.most_memory_mib) == (100, 100)
    assert kind.is_software_everywhere


def test_nvidia_block_is_read() -> None:
    """What a scheduler and a webhook need; the rest is the plugin's."""
    (kind,) = read("""
        nvidia:
          resourceCountName: x.com/gpu
          resourceCoreName: x.com/cores
          resourcePriorityName: x.com/priority
          memoryFactor: 1024
          defaultMemory: 4096
          defaultCores: 20
          defaultGPUNum: 2
          gpuCorePolicy: force
          overwriteEnv: true
          runtimeClassName: nvidia
          deviceMemoryScaling: 1.5
          libCudaLogLevel: "1"
          knownMigGeometries: [{models: [A30], allowedGeometries: []}]
        """)
    assert kind == replace(
        NVIDIA,
        count_resource="x.com/gpu",
        memory_resource=None,
        memory_percentage_resource=None,
        core_resource="x.com/cores",
        memory_factor=1024,
        default_memory_mib=4096,
        default_core_percent=20,
        admission=replace(
            NVIDIA.admission,
            default_count=2,
            priority_resource="x.com/priority",
            overwrites_env=True,
            core_policy="force",
            runtime_class_name="nvidia",
        ),
    )


@pytest.mark.parametrize(
    ("cards", "units"),
    [
        ("160", [2, 4, 8, 16, 32, 64, 128, 160]),
        ("[96, 160]", [2, 4, 8, 16, 32, 64, 96, 128, 160]),
        ("64", [2, 4, 8, 16, 32, 64]),
    ],
)
def test_models_of_mthreads_cards_can_differ(cards: str, units: list[int]) -> None:
    """Files newer than HAMi v2.10 tell how large they are."""
    (kind,) = read(f"""
        mthreads:
          resourceCountName: x.com/vgpu
          resourceCoreName: x.com/core
          memoryPerCard: {cards}
        """)
    assert [size.memory_mib // 512 for size in kind.memory_sizes] == units


INERT = {
    "missing": "",
    "null": "hygon:",
    "empty": "hygon: {}",
    "without names": 'hygon: {resourceCountName: "", resourceMemoryName: ""}',
    "of null names": "hygon: {resourceCountName: , resourceMemoryName: null}",
    "an empty list": "iluvatars: []",
    "an entry without names": 'iluvatars: [{commonWord: "", resourceCountName: ""}]',
    "no configs": "vnpus: {hamiVnpuCore: true}",
}


@pytest.mark.parametrize("text", INERT.values(), ids=INERT)
def test_block_without_names_is_inert(text: str) -> None:
    """It is as good as left out."""
    kinds = read(f"{text}\nvastai: {{resourceCountName: x.com/va}}")
    assert [kind.type_word for kind in kinds] == ["Vastai"]


def test_older_file_lists_vnpus_directly() -> None:
    """As HAMi did up to v2.8."""
    (kind,) = read("""
        vnpus:
          - {commonWord: N, resourceName: x.com/N, memoryAllocatable: 1, superPod: true}
        """)
    assert RequestRule.COUNT_EVEN in kind.rules


def test_all_that_is_wrong_is_told_by_line() -> None:
    """Whoever mends the file need not run the check once per mistake."""
    assert problems("""\
        nvidia:
          resourceCountName: nvidia.com/gpu
          resourceMemoryName: gpumem
          memoryFactor: -1
          defaultMemroy: 5
          gpuCorePolicy: strict
          overwriteEnv: "false"
        amd:
          resourceCountName: nvidia.com/gpu
          resourceCountName: amd.com/gpu
        intel: {}
        vastai: []
        iluvatars:
          - commonWord: MLU
            resourceCountName: x.com/a
          - commonWord: a b
            resourceCountName: x.com/b
          - resourceCountName: x.com/c
          - resourceMemoryName: x.com/d
            commonWord: D
          - 7
        cambricon: {resourceCountName: x.com/mlu}
        vnpus:
          hamiVnpuCore: 1
          configs:
            - commonWord: N
              resourceName: x.com/n
              templates:
                - name: t
                - memory: 0
            - commonWord: N
              resourceName: x.com/m
              memoryAllocatable: 1e9
        """) == [
        (
            "line 3: nvidia.resourceMemoryName: 'gpumem' is not a resource's name, "
            "such as nvidia.com/gpu"
        ),
        "line 4: nvidia.memoryFactor: '-1' is not a whole number from 0 to 2147483647",
        (
            "line 5: nvidia.defaultMemroy is not a key that is known here; do you mean "
            "defaultMemory?"
        ),
        "line 6: nvidia.gpuCorePolicy: 'strict' is not one of default, force, disable",
        "line 7: nvidia.overwriteEnv: 'false' is not true or false, without quotes",
        (
            "line 9: amd.resourceCountName: 'nvidia.com/gpu' is not free: "
            "nvidia.resourceCountName has it (line 2)"
        ),
        "line 10: amd.resourceCountName is not there once; it is at line 9 already",
        "line 11: intel is not a key that is known here",
        "line 12: vastai: a list is not a mapping",
        (
            "line 14: iluvatars[0].commonWord (MLU): 'MLU' is not free: cambricon "
            "(MLU) has it (line 22)"
        ),
        (
            "line 16: iluvatars[1].commonWord: 'a b' is not a word of letters, digits "
            "and `-_.`, 43 at most"
        ),
        "line 18: iluvatars[2].commonWord is not there: it names the kind",
        (
            "line 19: iluvatars[3].resourceCountName is not there: without it, nobody "
            "can ask for the others"
        ),
        "line 21: iluvatars[4]: '7' is not a mapping",
        (
            "line 22: cambricon.resourceCoreName is not there: a node's capacity of "
            "it tells how many cards there are"
        ),
        "line 24: vnpus.hamiVnpuCore: '1' is not true or false, without quotes",
        (
            "line 26: vnpus.configs[0].memoryAllocatable is not there: MiB that a "
            "whole device offers"
        ),
        "line 29: vnpus.configs[0].templates[0].memory is not there: MiB",
        (
            "line 30: vnpus.configs[0].templates[1].name is not there: what the "
            "plugin calls it"
        ),
        (
            "line 30: vnpus.configs[0].templates[1].memory: '0' is not a whole number "
            "from 1 to 2147483647"
        ),
        (
            "line 31: vnpus.configs[1].commonWord (N): 'N' is not free: "
            "vnpus.configs[0].commonWord (N) has it (line 26)"
        ),
        (
            "line 33: vnpus.configs[1].memoryAllocatable: '1e9' is not a whole number "
            "from 1 to 2147483647"
        ),
    ]


def test_words_that_make_the_same_annotation_are_found() -> None:
    """Two kinds would read each other's cards."""
    assert problems("""\
        hygon: {resourceCountName: x.com/dcu}
        iluvatars: [{commonWord: dcu, resourceCountName: x.com/i}]
        """) == [
        (
            "line 2: iluvatars[0].commonWord (dcu): 'hami.io/node-dcu-register' is "
            "not free: hygon (DCU) has it (line 1)"
        )
    ]


def test_part_that_is_larger_than_its_device_is_refused() -> None:
    """A pod that is raised to it would fit nowhere."""
    assert problems("""\
        vnpus:
          - commonWord: N
            resourceName: x.com/N
            memoryAllocatable: 100
            templates:
              - {name: all, memory: 100}
              - {name: more, memory: 101}
        """) == [
        (
            "line 7: vnpus[0].templates[1].memory: '101' is not a whole number from "
            "1 to 100"
        )
    ]


def test_runtime_class_that_no_pod_could_be_given_is_refused() -> None:
    """Whoever creates a pod would be told of a name that is not theirs."""
    assert problems("""\
        nvidia: {resourceCountName: x.com/gpu, runtimeClassName: "a\\e[31m"}
        vnpus:
          - commonWord: N
            resourceName: x.com/N
            memoryAllocatable: 100
            runtimeClassName: Ascend
        """) == [
        (
            "line 1: nvidia.runtimeClassName: 'a\\x1b[31m' is not an object's name: "
            "a-z, 0-9, `-` and `.`"
        ),
        (
            "line 6: vnpus[0].runtimeClassName: 'Ascend' is not an object's name: "
            "a-z, 0-9, `-` and `.`"
        ),
    ]


WHOLE_FILES: dict[str, tuple[str | bytes, str]] = {
    "empty": ("", "line 1, column 1: an empty file is not a block for each vendor"),
    "a comment": ("# none", "line 1, column 1: an empty file is not a block"),
    "a list": ("- nvidia", "line 1, column 1: this is not a mapping of vendors"),
    "a text": ("nvidia", "line 1, column 1: this is not a mapping of vendors"),
    "no names at all": (
        "nvidia: {}\namd:",
        "line 1: a vendor is not there: no block names a resource that counts devices",
    ),
    "no YAML": (
        "nvidia:\n  a: [1,\nb: 2",
        (
            "line 4, column 1: this is not YAML: while parsing a flow sequence did "
            "not find expected ',' or ']'"
        ),
    ),
    "a tab": ("nvidia:\n\ta: 1", "line 2, column 1: this is not YAML: while scanning"),
    "a control character": (
        "nvidia:\n  a: \x07",
        "line 2, column 1: this is not YAML: ",
    ),
    "no UTF-8": (b"a: 1\nb: \xff", "line 2, column 1: byte 0xff is not UTF-8"),
    "an alias": (
        "nvidia: &x {memoryFactor: 1}\namd: *x",
        "line 2, column 6: *x is not taken: write it out",
    ),
    "a billion laughs": (
        "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]",
        "line 2, column 8: *a is not taken: write it out",
    ),
    "two documents": (
        "amd: {}\n---\nnvidia: {}",
        "line 2, column 1: another document is not taken: one document is read",
    ),
    "nested too deeply": (
        "a:\n  " + "[" * 500,
        "line 2, column 18: a level below is not taken: at most 16 levels are",
    ),
    "nested without end": (
        "a:\n  " + "[" * 100_000,
        "line 2, column 1002: this is not YAML: while increasing flow level",
    ),
    "too large": (
        b"#" * (MOST_BYTES + 1),
        f"line 1, column 1: {MOST_BYTES + 1} bytes is not at most {MOST_BYTES} bytes",
    ),
    "a ConfigMap": (
        "apiVersion: v1\nkind: ConfigMap\ndata: {device-config.yaml: ''}",
        "line 2: kind: 'ConfigMap' is not what is read: give the file that is in it",
    ),
    "a key that is no word": (
        "vastai: {resourceCountName: x.com/v}\n? [a]\n: 1",
        "line 2: a key is not a word",
    ),
}


@pytest.mark.parametrize(("text", "told"), WHOLE_FILES.values(), ids=WHOLE_FILES)
def test_file_that_cannot_be_read(text: str | bytes, told: str) -> None:
    """One problem, with line and column; never a traceback, nor much memory."""
    (problem,) = problems(text)
    assert problem.startswith(told)


def test_error_is_one_line_with_everything() -> None:
    """For a command that cannot go on without the file."""
    with pytest.raises(BadDeviceConfig) as refused:
        read("amd: 7\nintel: {}")
    assert str(refused.value) == (
        "file: line 1: amd: '7' is not a mapping; "
        "line 2: intel is not a key that is known here"
    )


def test_long_values_are_cut() -> None:
    """A problem is read by people."""
    (problem,) = problems(f"amd: {'x' * 500}")
    assert len(problem) < 100


def test_byte_order_mark_is_no_problem() -> None:
    """Some editors write one."""
    content = b"\xef\xbb\xbfvastai: {resourceCountName: x.com/va}"
    assert len(read_device_config(content, "file")) == 1


def test_values_of_another_shape_are_told() -> None:
    """A list where a text is wanted, a text where a list is, and one bad item."""
    assert problems("""\
        vastai: {resourceCountName: [x.com/va]}
        iluvatars: MR-V100
        mthreads:
          resourceCountName: x.com/vgpu
          resourceCoreName: x.com/core
          memoryPerCard: [96, 1, {}]
        vnpus: {configs: {}}
        """) == [
        "line 1: vastai.resourceCountName: a list is not a text",
        "line 2: iluvatars: 'MR-V100' is not a list",
        "line 6: mthreads.memoryPerCard: '1' is not a whole number from 2 to 1048576",
        (
            "line 6: mthreads.memoryPerCard: a mapping is not a whole number from 2 to "
            "1048576"
        ),
        "line 7: vnpus.configs: a mapping is not a list",
    ]
