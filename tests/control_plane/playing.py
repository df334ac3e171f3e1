"""What the containers of one pod are at, as its kubelet reports it in ``status``."""

from collections.abc import Iterator
from datetime import UTC, datetime
from enum import StrEnum

from tests.builders import Json


class Play(StrEnum):
    """What a pod does by itself once it is admitted."""

    WAIT = "wait"
    """Nothing: its sandbox is up, every container waits, and a test plays on."""

    RUN = "run"
    """Its inits exit with 0, its sidecars and apps run."""

    COMPLETE = "complete"
    """As RUN, and then everything exits with 0."""


class Containers:
    """The states of a pod's containers, and the phase that follows from them.

    Source: `getPhase` and `convertToAPIContainerStatuses` of kubelet_pods.go. It does
    not hold a test to an order: what a test plays is what it reports.
    """

    def __init__(self, pod: Json) -> None:
        spec = pod["spec"]
        self._inits: list[Json] = spec.get("initContainers", [])
        self._apps: list[Json] = spec["containers"]
        self._restart_policy: str = spec.get("restartPolicy", "Always")
        self._sandbox: Json = condition("PodReadyToStartContainers", is_true=False)
        self._further: dict[str, Json] = {}
        self._is_over: str | None = None
        self._shown = {
            container["name"]: _shown(container)
            for container in [*self._inits, *self._apps]
        }

    def play(self, play: Play) -> None:
        """Come up, as far as the pod does so by itself."""
        self.sandbox(is_ready=True)
        if play is Play.WAIT:
            return
        for init in self._inits:
            if is_sidecar(init):
                self.run(init["name"])
            else:
                self.run(init["name"])
                self.exit(init["name"], 0)
        self.start_apps()
        if play is Play.COMPLETE:
            self.finish(0)

    def run(self, name: str) -> None:
        """Start a container; one that ran before is restarted."""
        shown = self._shown[name]
        self._move(shown, {"running": {"startedAt": now()}})
        shown["ready"] = shown["started"] = True

    def exit(self, name: str, code: int) -> None:
        """End a container."""
        shown = self._shown[name]
        started = shown["state"].get("running", {}).get("startedAt", now())
        terminated = {
            "exitCode": code,
            "reason": "Error" if code else "Completed",
            "startedAt": started,
            "finishedAt": now(),
        }
        shown["state"] = {"terminated": terminated}
        # An init that is done is ready; anything else that ended is not.
        shown["started"] = False
        shown["ready"] = code == 0 and name in self._names_of_inits()

    def wait(self, name: str, reason: str) -> None:
        """Let a container wait, such as for ``CrashLoopBackOff``."""
        shown = self._shown[name]
        self._move(shown, {"waiting": {"reason": reason}})
        shown["ready"] = shown["started"] = False

    def start_apps(self) -> None:
        """Start every app container."""
        for app in self._apps:
            self.run(app["name"])

    def finish(self, code: int) -> None:
        """End everything that runs, apps with `code`, and the pod with it."""
        for container in [*self._inits, *self._apps]:
            name = container["name"]
            if "running" in self._shown[name]["state"]:
                self.exit(name, code if container in self._apps else 0)
        self._is_over = "Failed" if code else "Succeeded"

    def sandbox(self, *, is_ready: bool) -> None:
        """Show whether the sandbox is up, since now."""
        self._sandbox = condition("PodReadyToStartContainers", is_true=is_ready)

    def restarting_all(self, *, is_true: bool) -> None:
        """Show whether every container is being restarted in place, since now."""
        kind = "AllContainersRestarting"
        self._further[kind] = condition(kind, is_true=is_true)

    def status(self) -> Json:
        """Give what is to be patched into the pod's status."""
        phase = self.phase()
        is_ready = phase == "Running" and all(
            self._shown[app["name"]]["ready"] for app in self._apps
        )
        status: Json = {
            "phase": phase,
            "conditions": [
                self._sandbox,
                condition("Ready", is_true=is_ready),
                *self._further.values(),
            ],
            "containerStatuses": [self._shown[app["name"]] for app in self._apps],
        }
        if self._inits:
            shown = [self._shown[init["name"]] for init in self._inits]
            status["initContainerStatuses"] = shown
        return status

    def phase(self) -> str:
        """Derive the phase."""
        if self._is_over:
            return self._is_over
        codes = list(self._exit_codes_of_inits())
        if any(codes) and self._restart_policy == "Never":
            return "Failed"
        apps = [self._shown[app["name"]] for app in self._apps]
        states = [shown["state"] for shown in apps]
        if any(
            "waiting" in shown["state"] and not shown["lastState"] for shown in apps
        ):
            return "Pending"
        if any("running" in state for state in states):
            return "Running"
        return self._phase_of_ended(states)

    def _phase_of_ended(self, states: list[Json]) -> str:
        if self._restart_policy == "Always":
            return "Running"
        if all(state.get("terminated", {}).get("exitCode") == 0 for state in states):
            return "Succeeded"
        return "Failed" if self._restart_policy == "Never" else "Running"

    def _exit_codes_of_inits(self) -> Iterator[int]:
        for init in self._inits:
            terminated = self._shown[init["name"]]["state"].get("terminated")
            if terminated and not is_sidecar(init):
                yield terminated["exitCode"]

    def _names_of_inits(self) -> set[str]:
        return {init["name"] for init in self._inits if not is_sidecar(init)}

    @staticmethod
    def _move(shown: Json, state: Json) -> None:
        before = shown["state"]
        if "terminated" in before:
            shown["lastState"] = before
        if "running" in state and shown["lastState"]:
            shown["restartCount"] += 1
        shown["state"] = state


def is_sidecar(init: Json) -> bool:
    """Whether an init container runs until its pod ends."""
    return init.get("restartPolicy") == "Always"


def condition(kind: str, *, is_true: bool) -> Json:
    """Give a condition that changed now."""
    status = "True" if is_true else "False"
    return {"type": kind, "status": status, "lastTransitionTime": now()}


def now() -> str:
    """Give the time as Kubernetes writes it: whole seconds."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _shown(container: Json) -> Json:
    return {
        "name": container["name"],
        "image": container["image"],
        "imageID": "",
        "ready": False,
        "started": False,
        "restartCount": 0,
        "state": {"waiting": {"reason": "PodInitializing"}},
        "lastState": {},
    }
