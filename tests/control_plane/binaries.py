"""etcd, Kubernetes and kwok, built once from the modules that the project pins.

``python -m tests.control_plane.binaries`` (``make control-plane``) builds them ahead
of the tests, and with the argument ``kwok`` that, too. Each module has its folder in
the cache, named for its pins, its version and how it is built.
"""

import fcntl
import os
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from threading import Timer
from typing import Final

import pytest

from tests import gotools

VERSION: Final = "v1.36.3"
"""Of Kubernetes; go.mod pins it, and the binaries are told that they are it."""

Say = Callable[[str], None]
"""Tells the engineer, who waits, how far it is."""

_MODULES: Final = gotools.MODULE / "control-plane"
_STAMP: Final = "k8s.io/component-base/version"
_BUILD_SECONDS: Final = 3600.0
_SAY_SECONDS: Final = 15.0
_NICE: Final = ("nice", "-n", "10")
"""It takes minutes and every core; whatever else runs here goes first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Module:
    name: str
    packages: tuple[str, ...]
    ldflags: str = "-s -w"
    output: str = ""
    """Name of the one binary where its package is not named like it."""

    @property
    def source(self) -> Path:
        return _MODULES / self.name

    def fingerprint(self) -> str:
        """Name the pins and how they are built."""
        digest = sha256(repr((self.packages, self.ldflags, self.output)).encode())
        for pins in ("go.mod", "go.sum"):
            digest.update((self.source / pins).read_bytes())
        for source in sorted(self.source.glob("*.go")):
            digest.update(source.read_bytes())
        return digest.hexdigest()[:16]


_ETCD: Final = _Module(
    name="etcd", packages=("go.etcd.io/etcd/server/v3",), output="etcd"
)
_KUBERNETES: Final = _Module(
    name="kubernetes",
    packages=tuple(
        f"k8s.io/kubernetes/cmd/{command}"
        for command in (
            "kube-apiserver",
            "kube-controller-manager",
            "kube-scheduler",
            "kubectl",
        )
    ),
    # kubectl and clients compare versions: without the stamp it is v0.0.0-master.
    ldflags=f"-s -w -X {_STAMP}.gitVersion={VERSION} -X {_STAMP}.gitMajor=1 "
    f"-X {_STAMP}.gitMinor=36",
)
HELM_VERSION: Final = "v3.18.4"
"""Of Helm; go.mod pins it."""

_HELM: Final = _Module(
    name="helm",
    packages=("helm.sh/helm/v3/cmd/helm",),
    ldflags=f"-s -w -X helm.sh/helm/v3/internal/version.version={HELM_VERSION}",
)
_KWOK: Final = _Module(name="kwok", packages=("sigs.k8s.io/kwok/cmd/kwok",))
_PROMTOOL: Final = _Module(
    name="promtool", packages=("github.com/prometheus/prometheus/cmd/promtool",)
)
_DOCKERFILE: Final = _Module(name="dockerfile", packages=(".",), output="dockerfile")


@dataclass(frozen=True, slots=True)
class Binaries:
    """Where the programs of a control plane are."""

    etcd: Path
    kube_apiserver: Path
    kube_controller_manager: Path
    kube_scheduler: Path
    kubectl: Path


def built(say: Say) -> Binaries:
    """Give the programs of a control plane, built if these pins never were.

    Fails the test by name where Go is missing, too old, or does not build them.

    Cost: 7 to 10 minutes on two cores with nothing cached; then a hash of the pins.
    """
    etcd = _built(_ETCD, say)
    kubernetes = _built(_KUBERNETES, say)
    return Binaries(
        etcd=etcd / "etcd",
        kube_apiserver=kubernetes / "kube-apiserver",
        kube_controller_manager=kubernetes / "kube-controller-manager",
        kube_scheduler=kubernetes / "kube-scheduler",
        kubectl=kubernetes / "kubectl",
    )


def built_kwok(say: Say) -> Path:
    """Give kwok, which plays nodes and pods in `make playground`, built as by `built`.

    Tests of the extender do without it: the stand-in (`tests.control_plane.kubelet`)
    is stricter, and plays a thousand nodes from one process.
    """
    return _built(_KWOK, say) / "kwok"


def built_helm(say: Say) -> Path:
    """Give helm, built as by `built`; only `make verify` needs it."""
    return _built(_HELM, say) / "helm"


def built_promtool(say: Say) -> Path:
    """Give promtool, which judges expositions, rules and their tests, as by `built`.

    Only tests that are marked ``verify`` need it.
    """
    return _built(_PROMTOOL, say) / "promtool"


def built_dockerfile(say: Say) -> Path:
    """Give the command that reads Dockerfiles by BuildKit's own parser and linter."""
    return _built(_DOCKERFILE, say) / "dockerfile"


def _built(module: _Module, say: Say) -> Path:
    folder = gotools.cache() / f"{module.name}-{module.fingerprint()}"
    if folder.is_dir():
        return folder
    go = gotools.required_go(module.source)
    with _alone(gotools.cache() / f".{module.name}.lock", module, say):
        if not folder.is_dir():
            gotools.publish(folder, lambda binaries: _build(go, module, binaries, say))
    return folder


@contextmanager
def _alone(lock: Path, module: _Module, say: Say) -> Iterator[None]:
    """Let one run build; a second would only take its cores away."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"control plane: another run is building {module.name}; waiting for it")
            fcntl.flock(held, fcntl.LOCK_EX)
        yield


def _build(go: str, module: _Module, binaries: Path, say: Say) -> None:
    output = f"{binaries}/{module.output}"
    flags = ["-v", "-trimpath", "-mod=readonly", "-buildvcs=false", "-o", output]
    command = [*_NICE, go, "build", *flags, "-ldflags", module.ldflags]
    say(f"control plane: building {module.name}, once; minutes where nothing is cached")
    started = time.monotonic()
    with subprocess.Popen(
        [*command, *module.packages],
        cwd=module.source,
        env={**os.environ, **gotools.ENVIRONMENT},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as building:
        overdue = Timer(_BUILD_SECONDS, building.kill)
        overdue.start()
        try:
            last_lines = _follow(building, module, say)
        finally:
            overdue.cancel()
            building.terminate()
    seconds = time.monotonic() - started
    if building.returncode:
        said = "\n".join(last_lines)
        pytest.fail(
            f"Go could not build {module.source} within {seconds:.0f} s:\n{said}",
            pytrace=False,
        )
    say(f"control plane: built {module.name} in {seconds:.0f} s")


def _follow(building: "subprocess.Popen[str]", module: _Module, say: Say) -> list[str]:
    """Say now and then how far it is; give the last lines, which tell what failed."""
    last_lines: deque[str] = deque(maxlen=30)
    started = said_at = time.monotonic()
    fetched = compiled = 0
    for line in building.stderr or ():
        last_lines.append(line.rstrip())
        if line.startswith("go: downloading"):
            fetched += 1
        else:
            compiled += 1
        now = time.monotonic()
        if now - said_at >= _SAY_SECONDS:
            said_at = now
            say(
                f"control plane: {module.name}: {fetched} modules fetched, {compiled} "
                f"packages compiled, {now - started:.0f} s"
            )
    building.wait()
    return list(last_lines)


def _main(wanted: list[str]) -> int:
    try:
        binaries = built(_say_on_stderr)
        folders = {binaries.etcd.parent, binaries.kubectl.parent}
        if "kwok" in wanted:
            folders.add(built_kwok(_say_on_stderr).parent)
    except pytest.fail.Exception as failed:
        _say_on_stderr(f"make control-plane: {failed}")
        return 1
    for folder in sorted(folders):
        _say_on_stderr(f"control plane: {folder}")
    return 0


def _say_on_stderr(text: str) -> None:
    sys.stderr.write(f"{text}\n")


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
