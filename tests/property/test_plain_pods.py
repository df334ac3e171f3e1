"""What is passed over unread would have been passed over when read."""

from typing import Any

from hypothesis import event, given
from hypothesis import strategies as st

from extender.core.kind_set import Kinds
from extender.core.kinds import NVIDIA
from extender.errors import WireError
from extender.kube.intake import _matters
from extender.wire.plain_pods import is_plain
from extender.wire.pods import PodReader
from tests.kinds import BETA

KINDS = Kinds([NVIDIA, BETA])
READER = PodReader(KINDS)

odd = st.sampled_from([None, 0, "", "x", [], {}, [None], {"a": None}])
quantities = st.sampled_from(["1", "0", "1m", "", 1, None, "x"])
names = st.sampled_from(
    [
        "cpu",
        "nvidia.com/gpu",
        "nvidia.com/gpumem",
        "nvidia.com/gpumem-percentage",
        "nvidia.com/gpucores",
        "beta.example/card",
        "beta.example/memory",
        "example.com/gpu",
    ]
)
amounts = st.dictionaries(names, quantities, max_size=2)
resources = st.fixed_dictionaries(
    {}, optional={"limits": amounts | odd, "requests": amounts | odd}
)
containers = st.fixed_dictionaries(
    {"name": st.just("a")},
    optional={"resources": resources | odd, "restartPolicy": st.just("Always")},
)
listed = st.lists(containers, min_size=1, max_size=2)
annotations = st.dictionaries(
    st.sampled_from(
        [
            NVIDIA.allocated_annotation,
            NVIDIA.to_allocate_annotation,
            BETA.allocated_annotation,
            "other",
        ]
    ),
    st.sampled_from(["", ";", "GPU-a,NVIDIA,1,0:;"]),
)
pods = st.fixed_dictionaries(
    {
        "metadata": st.fixed_dictionaries(
            {"name": st.just("p"), "uid": st.just("u")},
            optional={"annotations": annotations | odd},
        ),
        "spec": st.fixed_dictionaries(
            {"containers": listed}, optional={"initContainers": listed | odd}
        ),
    }
)


@given(pods)
def test_plain_pods_matter_to_nobody(shown: dict[str, Any]) -> None:
    """And a pod that names none of our resources, in any usual form, is plain."""
    plain = is_plain(shown, KINDS)
    event(f"plain: {plain}")
    try:
        read = READER.read(shown)
    except WireError:
        return
    if plain:
        assert not _matters(read)


def test_odd_pods_are_not_plain() -> None:
    """Whoever reads them tells what is wrong."""
    odd_pods: list[object] = [None, [], {}, {"metadata": {}}]
    odd_pods.append({"metadata": {}, "spec": {}})
    odd_containers: list[object] = [None, {"resources": []}]
    odd_containers.append({"resources": {"limits": "x"}})
    odd_pods += [
        {"metadata": {}, "spec": {"containers": [each]}} for each in odd_containers
    ]
    assert not any(is_plain(shown, KINDS) for shown in odd_pods)
