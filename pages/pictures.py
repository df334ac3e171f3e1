"""Pictures of the accounting rule, drawn from what the rule itself says."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from extender.core.container import ContainerUsage, Lifetime
from extender.core.names import DeviceUUID
from extender.core.phases import current_charge, effective_usage, phases
from extender.core.pod import Release
from extender.core.pod_status import (
    ContainerStatus,
    PodPhase,
    PodStatus,
    RunState,
    SandboxReadiness,
)
from extender.core.usage import NOTHING, Usage
from pages.svg import FAINT, box, line, picture, words

_CARD: Final = DeviceUUID("GPU-0")
_CARD_GIB: Final = 24
_MIB: Final = 1024

_COLOURS: Final = {
    Lifetime.INIT: "#f2b84b",
    Lifetime.SIDECAR: "#7fb58a",
    Lifetime.APP: "#7aa7d9",
}
_CHARGED: Final = "#b3261e"
_KEPT: Final = "#6f42c1"
_PIXELS_PER_GIB: Final = 7
_COLUMN: Final = 74
_TOP: Final = 46


@dataclass(frozen=True)
class Container:
    """One container of a pod in a picture; all are on one card."""

    name: str
    lifetime: Lifetime
    gib: int

    @property
    def usage(self) -> ContainerUsage:
        """What the accounting rule is asked about."""
        return ContainerUsage(self.lifetime, {_CARD: Usage(1, self.gib * _MIB)})


@dataclass(frozen=True)
class Column:
    """A stretch of a pod's life, side by side with others.

    Attributes:
        label: What is written below it.
        running: Who holds memory then.
        charged: GiB that the pod is charged then.
        kept: The same for a pod with release ``never``; None where that is not shown.
    """

    label: str
    running: Sequence[Container]
    charged: int
    kept: int | None = None


def _init(gib: int, name: str = "init") -> Container:
    return Container(name, Lifetime.INIT, gib)


def _sidecar(gib: int) -> Container:
    return Container("sidecar", Lifetime.SIDECAR, gib)


def _app(gib: int) -> Container:
    return Container("app", Lifetime.APP, gib)


FOUR_PODS: Final = (
    (_sidecar(10), _app(10)),
    (_init(20), _app(10)),
    (_sidecar(2), _init(20), _app(10)),
    (_init(20), _sidecar(2), _app(10)),
)
"""Those of README.md, in its order."""

_RELEASED: Final = (_sidecar(2), _init(20, "init a"), _init(14, "init b"), _app(10))


def pictures() -> dict[str, str]:
    """Draw all of them; keys are file names in ``docs/pictures``."""
    return {
        "phases.svg": _four_pods(),
        "release.svg": _release(),
        "reboot.svg": _reboot(),
    }


def life(pod: Sequence[Container]) -> Iterator[Column]:
    """Tell what a pod holds phase by phase, and what it is charged at first."""
    usages = [container.usage for container in pod]
    charged = _gib(effective_usage(usages))
    for phase in phases(usages):
        if phase.init_index is None:
            running = [each for each in pod if each.lifetime is not Lifetime.INIT]
            yield Column("steady", running, charged)
        else:
            init = pod[phase.init_index]
            before = [
                each
                for each in pod[: phase.init_index]
                if each.lifetime is Lifetime.SIDECAR
            ]
            yield Column(init.name, [*before, init], charged)


def _four_pods() -> str:
    parts = []
    left = 76.0
    for pod in FOUR_PODS:
        columns = list(life(pod))
        name = ", ".join(f"{each.name} {each.gib}" for each in pod)
        middle = left + len(columns) * _COLUMN / 2
        parts.append(words(middle, 20, f"charged {columns[0].charged}", size=13))
        parts.append(words(middle, 36, name, size=11, colour=FAINT))
        parts += _columns(left, columns)
        left += max(len(columns) * _COLUMN, 140) + 44
    return picture(
        left,
        _bottom() + 44,
        "What four pods hold in each phase, and what they are charged",
        "In GiB of one card of 24 GiB. The red line is the charge: the largest phase.",
        [*_scale(left), *parts],
    )


def _release() -> str:
    ended = PodStatus(phase=PodPhase.SUCCEEDED)
    columns = [
        _at("waiting", 0),
        _at("init a", 0, runs=True),
        _at("init b", 1, runs=True),
        _at("running", 2, is_app=True),
        _idle("ended", ended),
    ]
    return _timeline(
        columns,
        "Release, init by init",
        "sidecar 2, init a 20, init b 14, app 10",
    )


def _reboot() -> str:
    down = _status(2, sandbox=SandboxReadiness.NOT_READY)
    columns = [
        _at("running", 2, is_app=True),
        _idle("node reboots", down),
        _at("init a again", 0, runs=True),
        _at("init b again", 1, runs=True),
        _at("running", 2, is_app=True),
    ]
    return _timeline(
        columns,
        "A node reboots: the inits run again, and count again",
        "sidecar 2, init a 20, init b 14, app 10",
    )


def _timeline(columns: Sequence[Column], title: str, pod: str) -> str:
    left = 56.0
    width = left + len(columns) * _COLUMN + 190
    right = left + len(columns) * _COLUMN + 14
    parts = [
        words(left, 20, title, size=13, at="start"),
        words(left, 36, pod, size=11, colour=FAINT, at="start"),
        *_columns(left, columns),
        *_legend(right),
    ]
    description = "; ".join(
        f"{each.label}: holds {sum(one.gib for one in each.running)}, charged "
        f"{each.charged}, with release never {each.kept}"
        for each in columns
    )
    return picture(
        width,
        _bottom() + 44,
        title,
        f"In GiB. {description}.",
        [*_scale(right), *parts],
    )


def _idle(label: str, status: PodStatus) -> Column:
    """Tell what is charged while nothing runs."""
    charged = _charge(status, Release.AFTER_INIT)
    return Column(label, (), charged, _charge(status, Release.NEVER))


def _at(label: str, exited: int, *, runs: bool = False, is_app: bool = False) -> Column:
    """Tell how it stands once some inits have exited with 0.

    Args:
        label: What is written below.
        exited: How many of the inits.
        runs: Whether the next init runs.
        is_app: Whether the app does.
    """
    inits = [each for each in _RELEASED if each.lifetime is Lifetime.INIT]
    running = [_RELEASED[0]] if runs or is_app else []
    running += inits[exited : exited + 1] if runs else []
    running += [_RELEASED[-1]] if is_app else []
    status = _status(exited, runs=runs, is_app=is_app)
    return Column(
        label,
        running,
        _charge(status, Release.AFTER_INIT),
        _charge(status, Release.NEVER),
    )


def _status(
    exited: int,
    *,
    runs: bool = False,
    is_app: bool = False,
    sandbox: SandboxReadiness = SandboxReadiness.READY,
) -> PodStatus:
    """Make the status that the API shows; exits are newer than the sandbox."""
    over = ContainerStatus(RunState.TERMINATED, exit_code=0, finished_at=50.0)
    inits = [over] * exited
    if runs:
        inits.append(ContainerStatus(RunState.RUNNING))
    waiting = ContainerStatus(RunState.WAITING)
    inits += [waiting] * (2 - len(inits))
    app = ContainerStatus(RunState.RUNNING) if is_app else waiting
    sidecar = ContainerStatus(RunState.RUNNING)
    return PodStatus(
        containers=(sidecar, *inits, app), sandbox=sandbox, sandbox_changed_at=40.0
    )


def _charge(status: PodStatus, release: Release) -> int:
    usages = [container.usage for container in _RELEASED]
    return _gib(current_charge(usages, status, release))


def _gib(charge: dict[DeviceUUID, Usage]) -> int:
    return charge.get(_CARD, NOTHING).memory_mib // _MIB


def _bottom() -> float:
    return _TOP + _CARD_GIB * _PIXELS_PER_GIB


def _height(gib: int) -> float:
    """Give the y of an amount."""
    return _bottom() - gib * _PIXELS_PER_GIB


def _scale(right: float) -> Iterator[str]:
    """Draw the card: its size, and the amounts at the left."""
    for gib in (0, 10, 20, _CARD_GIB):
        y = _height(gib)
        yield words(44, y + 4, str(gib), size=11, colour=FAINT, at="end")
        yield line([(50, y), (right - 8, y)], "#d0d7de")
    yield words(44, _height(_CARD_GIB) - 8, "GiB", size=11, colour=FAINT, at="end")


def _columns(left: float, columns: Sequence[Column]) -> Iterator[str]:
    for number, column in enumerate(columns):
        x = left + number * _COLUMN
        held = 0
        for container in column.running:
            height = container.gib * _PIXELS_PER_GIB
            held += container.gib
            y = _height(held)
            colour = _COLOURS[container.lifetime]
            yield box(x + 3, y, _COLUMN - 6, height, colour)
            text = f"{container.name} {container.gib}"
            yield words(x + _COLUMN / 2, y + height / 2 + 4, text, size=11)
        yield words(x + _COLUMN / 2, _bottom() + 18, column.label, size=11)
    yield _steps(left, [column.charged for column in columns], _CHARGED)
    kept = [column.kept for column in columns if column.kept is not None]
    if kept:
        yield _steps(left, kept, _KEPT, "6 4")


def _steps(left: float, amounts: Sequence[int], colour: str, dash: str = "") -> str:
    points = []
    for number, gib in enumerate(amounts):
        x = left + number * _COLUMN
        points += [(x, _height(gib)), (x + _COLUMN, _height(gib))]
    return line(points, colour, dash)


def _legend(left: float) -> Iterator[str]:
    rows = (
        (_CHARGED, "", "charged"),
        (_KEPT, "6 4", "charged, release: never"),
    )
    for number, (colour, dash, text) in enumerate(rows):
        y = _TOP + 14 + number * 22
        yield line([(left, y - 4), (left + 24, y - 4)], colour, dash)
        yield words(left + 30, y, text, size=11, at="start")
    for number, (lifetime, colour) in enumerate(_COLOURS.items(), start=len(rows)):
        y = _TOP + 14 + number * 22
        yield box(left, y - 10, 24, 12, colour)
        yield words(left + 30, y, f"held by {lifetime.value}", size=11, at="start")
