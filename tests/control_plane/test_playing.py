"""The phase and the container statuses follow from what a test plays."""

import pytest

from tests.builders import Json, PodBuilder, pod
from tests.control_plane.playing import Containers, Play


def of(builder: PodBuilder, restart_policy: str = "Always") -> Json:
    """Print a pod as the API shows it."""
    shown = builder.build()
    shown["spec"]["restartPolicy"] = restart_policy
    for kind in ("initContainers", "containers"):
        for container in shown["spec"].get(kind, []):
            container["image"] = "registry.example/work:1"
    return shown


SHAPE = pod("p").sidecar("s").init("i").app("a").app("b")


@pytest.mark.parametrize(
    ("restart_policy", "phase"), [("Always", "Pending"), ("Never", "Failed")]
)
def test_init_that_fails(restart_policy: str, phase: str) -> None:
    """A pod that restarts waits for another try; one that does not has failed."""
    containers = Containers(of(SHAPE, restart_policy))
    containers.run("i")
    containers.exit("i", 1)
    assert containers.phase() == phase


@pytest.mark.parametrize(
    ("restart_policy", "codes", "phase"),
    [
        ("Always", (0, 0), "Running"),
        ("OnFailure", (0, 0), "Succeeded"),
        ("OnFailure", (0, 1), "Running"),
        ("Never", (0, 0), "Succeeded"),
        ("Never", (0, 1), "Failed"),
    ],
)
def test_apps_that_end(restart_policy: str, codes: tuple[int, int], phase: str) -> None:
    """The phase follows from the exit codes and the restart policy."""
    containers = Containers(of(SHAPE, restart_policy))
    containers.play(Play.RUN)
    assert containers.phase() == "Running"
    for name, code in zip(("a", "b"), codes, strict=True):
        containers.exit(name, code)
    assert containers.phase() == phase


def test_one_app_that_waits_keeps_the_pod_pending() -> None:
    """A pod runs once every app was started."""
    containers = Containers(of(SHAPE))
    containers.play(Play.WAIT)
    containers.run("a")
    assert containers.phase() == "Pending"
    containers.run("b")
    assert containers.phase() == "Running"


def test_sidecar_that_crashes() -> None:
    """Its restarts are counted, its last exit is kept, and the pod runs on."""
    containers = Containers(of(SHAPE))
    containers.play(Play.RUN)
    for _ in range(2):
        containers.exit("s", 1)
        containers.wait("s", "CrashLoopBackOff")
        containers.run("s")
    sidecar = containers.status()["initContainerStatuses"][0]
    assert sidecar["restartCount"] == 2
    assert sidecar["lastState"]["terminated"]["exitCode"] == 1
    assert containers.phase() == "Running"


def test_pod_that_completes() -> None:
    """Apps and inits exited with 0, and the pod has succeeded."""
    containers = Containers(of(SHAPE))
    containers.play(Play.COMPLETE)
    status = containers.status()
    both = [*status["initContainerStatuses"], *status["containerStatuses"]]
    codes = [shown["state"]["terminated"]["exitCode"] for shown in both]
    assert codes == [0, 0, 0, 0]
    assert status["phase"] == "Succeeded"
