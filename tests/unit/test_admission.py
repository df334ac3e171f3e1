"""What the admission webhook gives to NVIDIA's pods, refuses and warns of."""

from dataclasses import replace
from time import process_time
from typing import Any, Final

import pytest

from extender.core.kind_set import Kinds
from extender.core.kinds import NVIDIA, Kind
from extender.settings import AdmissionSettings
from extender.wire.pods import PodReader
from tests.admission import OURS, Answered, admitted, new_pod
from tests.builders import Json, PodBuilder, Quantity, pod
from tests.shipped import SHIPPED

GPU: Final = "nvidia.com/gpu"


def asking(**asks: Quantity) -> PodBuilder:
    """Print a pod of one app."""
    return pod("p").app("a", **asks)


def privileged(name: str, **asks: Quantity) -> Json:
    """Print a privileged app."""
    (one,) = pod("p").app(name, **asks).build()["spec"]["containers"]
    return {**one, "securityContext": {"privileged": True}}


def with_admission(**fields: Any) -> Kind:  # noqa: ANN401
    """Give NVIDIA's kind, as another device-config.yaml has it."""
    return replace(NVIDIA, admission=replace(NVIDIA.admission, **fields))


LIMITS: dict[str, tuple[dict[str, int], dict[str, int]]] = {
    "a count alone is a whole card": ({"gpu": 2}, {"gpu": 2, "gpucores": 100}),
    "all memory is a whole card": (
        {"gpu": 1, "percentage": 100},
        {"gpu": 1, "gpumem-percentage": 100, "gpucores": 100},
    ),
    "memory wins over all of it": (
        {"gpu": 1, "gpumem": 3000, "percentage": 100},
        {"gpu": 1, "gpumem": 3000, "gpumem-percentage": 100},
    ),
    "a part of the memory": ({"gpu": 1, "gpumem": 3000}, {"gpu": 1, "gpumem": 3000}),
    "cores that are named": ({"gpu": 1, "cores": 30}, {"gpu": 1, "gpucores": 30}),
    "no percentage": (
        {"gpu": 1, "percentage": 0},
        {"gpu": 1, "gpumem-percentage": 0},
    ),
    "memory without a count": ({"gpumem": 2000}, {"gpumem": 2000, "gpu": 1}),
    "a percentage without a count": (
        {"percentage": 50},
        {"gpumem-percentage": 50, "gpu": 1},
    ),
    "cores without a count": ({"cores": 30}, {"gpucores": 30, "gpu": 1}),
}


@pytest.mark.parametrize(("asked", "limits"), LIMITS.values(), ids=LIMITS)
def test_missing_limits_are_given(
    asked: dict[str, int], limits: dict[str, int]
) -> None:
    """A count where there is none, and all cores where all memory is asked for."""
    answer = admitted(asking(**asked))
    wanted = {f"nvidia.com/{name}": str(amount) for name, amount in limits.items()}
    assert answer.limits == {"a": wanted}
    assert answer.pod["spec"]["schedulerName"] == OURS
    assert answer.warnings == []


def test_every_container_is_looked_at() -> None:
    """Inits and sidecars, beside containers that ask for nothing."""
    shown = pod("p").init("i", gpumem=1000).sidecar("s", gpu=1).app("cpu")
    limits = admitted(shown).limits
    assert limits == {
        "i": {"nvidia.com/gpumem": "1000", GPU: "1"},
        "s": {GPU: "1", "nvidia.com/gpucores": "100"},
    }


def test_default_memory_leaves_room_for_others() -> None:
    """With a default memory, a count alone is no whole card."""
    kind = replace(NVIDIA, default_memory_mib=2000)
    assert admitted(asking(gpu=1), [kind]).limits == {"a": {GPU: "1"}}
    assert admitted(asking(gpu=1, percentage=100), [kind]).limits["a"] == {
        GPU: "1",
        "nvidia.com/gpumem-percentage": "100",
        "nvidia.com/gpucores": "100",
    }


def test_no_default_count() -> None:
    """With defaultGPUNum 0, memory without a count is refused by name."""
    answer = admitted(asking(gpumem=2000), [with_admission(default_count=0)])
    assert not answer.allowed
    assert answer.code == 422
    assert "nvidia.com/gpumem: 2000 is not allowed without nvidia.com/gpu" in (
        answer.text
    )


UNTOUCHED = {
    "asks for nothing": asking(),
    "asks for no card": asking(gpu=0),
    "asks for no card, and memory": asking(gpu=0, gpumem=3000),
    "is not to be looked at": replace(
        asking(gpu=1), metadata={"labels": {"hami.io/webhook": "ignore"}}
    ),
    "shows what kubelet runs from a file": asking(gpu=1)
    .on("n1")
    .annotations({"kubernetes.io/config.mirror": "x"}),
}


@pytest.mark.parametrize("shown", UNTOUCHED.values(), ids=UNTOUCHED)
def test_untouched(shown: PodBuilder) -> None:
    """Nothing is changed and nothing is said; default-scheduler stays."""
    answer = admitted(shown)
    assert answer.allowed
    assert answer.patch == []
    assert answer.warnings == []


def test_privileged_pod_that_asks_for_no_card() -> None:
    """``gpu: 0`` is no reason to refuse a privileged container."""
    assert admitted(asking(), containers=[privileged("a", gpu=0)]).patch == []


NOT_FORCED = AdmissionSettings(force_overwrite_default_scheduler=False)
TWO_NAMES = AdmissionSettings(scheduler_names=("first", "second"))

SCHEDULERS: dict[str, tuple[str, AdmissionSettings, str, bool]] = {
    "the default": ("default-scheduler", AdmissionSettings(), OURS, False),
    "none": ("", AdmissionSettings(), OURS, False),
    "ours": (OURS, AdmissionSettings(), OURS, False),
    "another": ("volcano", AdmissionSettings(), "volcano", True),
    "the default, which is left": (
        "default-scheduler",
        NOT_FORCED,
        "default-scheduler",
        True,
    ),
    "none, though the default is left": ("", NOT_FORCED, OURS, False),
    "the first of two": ("default-scheduler", TWO_NAMES, "first", False),
    "the second of two": ("second", TWO_NAMES, "second", False),
}


@pytest.mark.parametrize(
    ("name", "settings", "became", "is_warned"), SCHEDULERS.values(), ids=SCHEDULERS
)
def test_scheduler(
    name: str, settings: AdmissionSettings, became: str, *, is_warned: bool
) -> None:
    """Only the default scheduler's pods are taken over; others get a warning."""
    answer = admitted(asking(gpu=1, gpumem=1), settings=settings, schedulerName=name)
    assert answer.allowed
    assert answer.pod["spec"]["schedulerName"] == became
    assert bool(answer.warnings) == is_warned
    if is_warned:
        assert answer.patch == []
        assert answer.warnings[0].startswith(f"schedulerName '{name}' is not {OURS}:")


def test_pod_of_another_scheduler_is_still_read() -> None:
    """It is not refused, whatever it asks for; a warning says what is wrong."""
    answer = admitted(
        asking(),
        schedulerName="volcano",
        nodeName="n1",
        containers=[privileged("a", gpu=1, gpumem="8Gi")],
    )
    assert answer.allowed
    assert answer.patch == []
    assert "so 8 GiB is written 8192" in answer.warnings[1]


FORBIDDEN: dict[str, tuple[Answered, str]] = {
    "the container that asks": (
        admitted(asking(), containers=[privileged("a", gpu=1)]),
        (
            "container 'a' is privileged: it would see every card of its node; run it "
            "without securityContext.privileged, or in a pod that asks for no cards"
        ),
    ),
    "a container beside it": (
        admitted(asking(gpu=1), initContainers=[privileged("mon")]),
        "container 'mon' is privileged",
    ),
    "a container behind it": (
        admitted(
            asking(),
            containers=[
                *asking(gpu=1).build()["spec"]["containers"],
                privileged("mon"),
            ],
        ),
        "container 'mon' is privileged",
    ),
    "an init": (
        admitted(asking(), initContainers=[privileged("i", gpu=1)]),
        "container 'i' is privileged",
    ),
    "a node": (
        admitted(asking(gpu=1), nodeName="n1"),
        (
            "pod has node assigned: spec.nodeName 'n1' leaves nobody to choose its "
            "cards; use nodeSelector or nodeAffinity instead"
        ),
    ),
    "another pod's allocation": (
        admitted(asking(gpu=1).holding("GPU-a,NVIDIA,1,0:;")),
        (
            "annotations hami.io/vgpu-devices-allocated are written at bind: remove "
            "them, they were copied from another pod"
        ),
    ),
}


@pytest.mark.parametrize(("answer", "text"), FORBIDDEN.values(), ids=FORBIDDEN)
def test_forbidden(answer: Answered, text: str) -> None:
    """403, with what to do; nothing is half done."""
    assert not answer.allowed
    assert answer.code == 403
    assert answer.text.startswith(f"pod research/p: {text}")
    assert answer.patch == []


REFUSED: dict[str, tuple[dict[str, int | str], str]] = {
    "bytes": (
        {"gpu": 1, "gpumem": "8Gi"},
        (
            "nvidia.com/gpumem: 8589934592 is not in the range 0 to 2147483647; the "
            "unit is MiB, so 8 GiB is written 8192"
        ),
    ),
    "a fraction": (
        {"gpu": 1, "gpumem": "1500m"},
        (
            "spec.containers[0].resources.limits[nvidia.com/gpumem]: '1500m' is not a "
            "whole number"
        ),
    ),
    "more than all": (
        {"gpu": 1, "percentage": 150},
        (
            "nvidia.com/gpumem-percentage: 150 is not from 0 to 100, percent of one "
            "card's memory"
        ),
    ),
    "less than nothing": (
        {"gpu": 1, "percentage": -5},
        "nvidia.com/gpumem-percentage: -5 is not from 0 to 100",
    ),
    "cores below 0": ({"gpu": 1, "cores": -5}, "nvidia.com/gpucores: -5 is not 0 or"),
    "cards below 0": ({"gpu": -1}, "nvidia.com/gpu: -1 is not in the range"),
}


@pytest.mark.parametrize(("asked", "text"), REFUSED.values(), ids=REFUSED)
def test_refused_by_name(asked: dict[str, int | str], text: str) -> None:
    """422, with container, resource, amount and what would do."""
    answer = admitted(asking(**asked))
    assert not answer.allowed
    assert answer.code == 422
    assert answer.text.startswith(f"pod research/p: container 'a': {text}")


REQUESTS: dict[str, tuple[Json, str]] = {
    "another amount": (
        {"limits": {GPU: "2"}, "requests": {GPU: "1"}},
        (
            "requests[nvidia.com/gpu]: 1 is not its limit, 2; name it in limits alone, "
            "the request follows from it"
        ),
    ),
    "no limit": (
        {"requests": {GPU: "1"}},
        "requests[nvidia.com/gpu]: 1 has no limit; name it in limits alone",
    ),
    "a priority without a limit": (
        {"limits": {GPU: "1"}, "requests": {"nvidia.com/priority": "1"}},
        "requests[nvidia.com/priority]: 1 has no limit",
    ),
}


@pytest.mark.parametrize(("resources", "text"), REQUESTS.values(), ids=REQUESTS)
def test_requests_that_are_not_their_limit(resources: Json, text: str) -> None:
    """Kubernetes refuses them too, in other words; cards are never overcommitted."""
    answer = admitted(asking(), containers=[{"name": "a", "resources": resources}])
    assert not answer.allowed
    assert answer.text.startswith(f"pod research/p: container 'a': {text}")


def test_equal_in_another_notation() -> None:
    """``1k`` and ``1000`` are one amount."""
    resources = {
        "limits": {GPU: "1", "nvidia.com/gpumem": "1k"},
        "requests": {GPU: "1", "nvidia.com/gpumem": "1000"},
    }
    assert admitted(
        asking(), containers=[{"name": "a", "resources": resources}]
    ).allowed


def test_all_that_is_wrong_is_told() -> None:
    """One try shows what three would."""
    shown = pod("p").app("a", gpu=1, gpumem="8Gi").app("b", gpu=1, percentage=101)
    answer = admitted(shown, nodeName="n1")
    assert answer.code == 422
    assert answer.text.count("; ") >= 2
    for part in ("pod has node assigned", "container 'a'", "container 'b'"):
        assert part in answer.text


def test_many_faults_are_not_all_told() -> None:
    """An answer is not as long as a pod."""
    shown = pod("p")
    for index in range(30):
        shown = shown.app(f"a{index}", gpu=1, gpumem="8Gi")
    assert admitted(shown).text.endswith("so 8 GiB is written 8192; and 20 more")


def test_pod_without_a_name() -> None:
    """Pods of controllers get their name later; the text shows its beginning."""
    shown = new_pod(asking(gpu=1, gpumem="8Gi"))
    shown["metadata"] = {"generateName": "trainer-7d4b-"}
    assert admitted(shown).text.startswith("pod research/trainer-7d4b-*: container")


def test_no_containers() -> None:
    """As HAMi says it."""
    answer = admitted(asking(), containers=[])
    assert answer.text == "pod research/p: pod has no containers"


WARNED = {
    "a policy that is not known": (
        {"hami.io/gpu-scheduler-policy": "pack"},
        (
            "hami.io/gpu-scheduler-policy: 'pack' is not one or more of binpack, "
            "spread, numa, mutex, topology-aware; the default is used"
        ),
    ),
    "a node policy that is not known": (
        {"hami.io/node-scheduler-policy": "pack"},
        (
            "hami.io/node-scheduler-policy: 'pack' is not binpack or spread; binpack "
            "is used"
        ),
    ),
    "a switch": (
        {"nvidia.com/numa-bind": "yes"},
        "nvidia.com/numa-bind: 'yes' is neither true nor false; it is off",
    ),
    "a name with a letter too many": (
        {"nvidia.com/use-gputypes": "A10"},
        (
            "annotation 'nvidia.com/use-gputypes' is not read; do you mean "
            "nvidia.com/use-gputype?"
        ),
    ),
    "a name of another vendor": (
        {"hami.io/use-gpuuuid": "GPU-a"},
        (
            "annotation 'hami.io/use-gpuuuid' is not read; do you mean "
            "nvidia.com/use-gpuuuid?"
        ),
    ),
    "a resource": (
        {"nvidia.com/gpumem": "3000"},
        (
            "annotation 'nvidia.com/gpumem' is not read: it is a resource, for a "
            "container's limits"
        ),
    ),
}


@pytest.mark.parametrize(("annotations", "text"), WARNED.values(), ids=WARNED)
def test_warned_of(annotations: dict[str, str], text: str) -> None:
    """The pod is created, since HAMi takes no notice; whoever does it is told."""
    answer = admitted(asking(gpu=1).annotations(annotations))
    assert answer.allowed
    assert answer.warnings == [text]
    assert admitted(asking().annotations(annotations)).warnings == []


def test_weights_that_cannot_be_read() -> None:
    """They refuse the pod, as filter would."""
    weights = {"hami.io/device-scoring-weights": "slot=1"}
    answer = admitted(asking(gpu=1).annotations(weights))
    assert not answer.allowed
    assert "hami.io/device-scoring-weights: 'slot=1' is not slot=A" in answer.text


def test_priority_becomes_a_variable() -> None:
    """Of containers with cards; elsewhere it says nothing."""
    limits = {GPU: "1", "nvidia.com/gpumem": "1", "nvidia.com/priority": "1"}
    alone = {"nvidia.com/priority": "1"}
    answer = admitted(
        asking(),
        containers=[
            {"name": "a", "resources": {"limits": limits}},
            {"name": "b", "resources": {"limits": alone}},
        ],
    )
    assert answer.env == {"a": [("CUDA_TASK_PRIORITY", "1")]}
    assert answer.warnings == [
        "container 'b': nvidia.com/priority has no effect without nvidia.com/gpu"
    ]


def test_priority_that_is_no_number() -> None:
    """It cannot become a variable."""
    limits = {GPU: "1", "nvidia.com/priority": "1500m"}
    answer = admitted(
        asking(), containers=[{"name": "a", "resources": {"limits": limits}}]
    )
    assert not answer.allowed
    assert "[nvidia.com/priority]: '1500m' is not a whole number" in answer.text


def test_core_policy_reaches_containers_with_cards() -> None:
    """HAMi gives it to every container; the others have no use for it."""
    shown = pod("p").app("a", gpu=1, gpumem=1).app("b")
    answer = admitted(shown, [with_admission(core_policy="force")])
    assert answer.env == {"a": [("GPU_CORE_UTILIZATION_POLICY", "force")]}
    assert admitted(asking(), [with_admission(core_policy="force")]).patch == []


def test_containers_without_cards_are_told_so() -> None:
    """With overwriteEnv, also in pods that ask for nothing."""
    kind = with_admission(overwrites_env=True)
    none = [("NVIDIA_VISIBLE_DEVICES", "none")]
    shown = pod("p").app("a", gpu=1, gpumem=1).app("b")
    assert admitted(shown, [kind]).env == {"b": none}
    alone = admitted(asking(), [kind])
    assert alone.env == {"a": none}
    assert alone.pod["spec"]["schedulerName"] == "default-scheduler"


def test_variables_are_appended() -> None:
    """The last one of a name counts, so the container's own stay in place."""
    env = [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}, {"name": "A"}]
    kind = with_admission(overwrites_env=True)
    answer = admitted(asking(), [kind], containers=[{"name": "a", "env": env}])
    assert answer.env["a"] == [
        ("NVIDIA_VISIBLE_DEVICES", "all"),
        ("A", ""),
        ("NVIDIA_VISIBLE_DEVICES", "none"),
    ]


def test_runtime_class() -> None:
    """For pods with cards that name none."""
    kind = with_admission(runtime_class_name="nvidia")
    assert admitted(asking(gpu=1), [kind]).pod["spec"]["runtimeClassName"] == "nvidia"
    own = admitted(asking(gpu=1), [kind], runtimeClassName="own")
    assert own.pod["spec"]["runtimeClassName"] == "own"
    assert admitted(asking(), [kind]).patch == []


@pytest.mark.parametrize("missing", [{}, {"resources": None}, {"resources": {}}])
def test_nothing_is_there_to_begin_with(missing: Json) -> None:
    """Variables and annotations are added where there is no list or object yet."""
    kind = with_admission(overwrites_env=True)
    containers = [{"name": "a", **missing, "env": None}]
    answer = admitted(asking(), [kind], containers=containers)
    assert answer.env == {"a": [("NVIDIA_VISIBLE_DEVICES", "none")]}


def long_pod(count: int, **spec: Any) -> Json:  # noqa: ANN401
    """Print a pod of many inits and an app, which ask for a card each."""
    shown = new_pod(pod("p").init("i", gpu=1).app("a", gpu=1))
    (init,) = shown["spec"]["initContainers"]
    shown["spec"]["initContainers"] = [
        {**init, "name": f"i{number}"} for number in range(count - 1)
    ]
    shown["spec"].update(spec)
    return shown


def test_too_many_containers() -> None:
    """From 257 on they are refused, inits among them, by the webhook and in filter."""
    assert admitted(long_pod(256)).allowed
    answer = admitted(long_pod(257))
    text = "257 containers are more than 256, the most of a pod that asks for devices"
    assert (answer.code, answer.text) == (422, f"pod research/p: {text}")
    named = long_pod(257)
    assert PodReader(Kinds([NVIDIA])).read(named).request_problem == text
    named["spec"]["nodeName"] = "n1"
    assert PodReader(Kinds([NVIDIA])).read(named).request_problem is None


def test_too_many_containers_of_others() -> None:
    """They are left alone as they are otherwise; so are pods without cards."""
    answer = admitted(long_pod(257, schedulerName="volcano"))
    assert answer.allowed
    assert "no card is chosen" in answer.warnings[0]
    plain = new_pod(pod("p").app("a"))
    plain["spec"]["containers"] *= 257
    answer = admitted(plain)
    assert (answer.allowed, answer.patch, answer.warnings) == (True, [], [])


def test_long_pod_is_answered_quickly() -> None:
    """The longest pod that etcd takes, in half the time that it took to look at it."""
    shown = long_pod(7_000)
    began = process_time()
    assert not admitted(shown, SHIPPED.values()).allowed
    assert process_time() - began < 0.5
