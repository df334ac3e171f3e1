"""The Go commands of ``tests/go``: Kubernetes' own code, asked from Python.

They are built once into a cache outside the checkout, in a folder named for their
sources, so a changed source or pin is built anew and nothing else is. A machine that
has them cached needs no Go.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pytest

MODULE: Final = Path(__file__).parent / "go"

_COMMANDS: Final = ("golden", "labelselectors", "podrequests")
_INSTALL: Final = (
    "install it from https://go.dev/dl and put `go` on PATH; the first build also "
    "fetches the modules that the go.sum files of tests/go pin"
)
ENVIRONMENT: Final = {"CGO_ENABLED": "0", "GOWORK": "off"}
"""What a build here needs, whatever else the engineer has set."""


def built(command: str) -> Path:
    """Give a command of ``tests/go``, built if this version of it never was.

    Fails the test by name where Go is missing, too old, or does not build it.

    Cost: about half a minute on two cores with nothing cached; then a hash of the
    sources.
    """
    folder = cache() / f"go-{_fingerprint()}"
    if not folder.is_dir():
        go = required_go(MODULE)
        publish(folder, lambda binaries: _build(go, binaries))
    return folder / command


def cache() -> Path:
    """Name the folder, outside the checkout, of what is built once."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG specification says to ignore a relative path.
    root = Path(given) if Path(given).is_absolute() else Path.home() / ".cache"
    return root / "gpu-extender"


def required_go(module: Path) -> str:
    """Find a Go that is new enough for a module, or fail the test by name."""
    go = shutil.which("go")
    if go is None:
        pytest.fail(f"Go is missing: {_INSTALL}", pytrace=False)
    _require_version(go, module)
    return go


def publish(folder: Path, build: Callable[[Path], None]) -> None:
    """Fill a folder of the cache: wholly, or not at all.

    Args:
        folder: Where the binaries shall be; another run may be filling it, too.
        build: Writes the binaries into the folder that it is given.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folder.parent, prefix=".building-") as scratch:
        binaries = Path(scratch) / "bin"
        binaries.mkdir()
        build(binaries)
        try:
            binaries.rename(folder)
        except OSError:
            # Another run was first; a folder with content is never replaced.
            if not folder.is_dir():
                raise


def _fingerprint() -> str:
    digest = sha256()
    for source in sorted([*MODULE.glob("go.*"), *MODULE.rglob("*.go")]):
        content = source.read_bytes()
        name = source.relative_to(MODULE).as_posix()
        digest.update(f"{name} {len(content)}\n".encode() + content)
    return digest.hexdigest()[:16]


def _build(go: str, binaries: Path) -> None:
    flags = ["-trimpath", "-mod=readonly", "-buildvcs=false", "-o", f"{binaries}/"]
    packages = [f"./{command}" for command in _COMMANDS]
    _run_go([go, "build", *flags, *packages], MODULE, wanted="build tests/go")


def _require_version(go: str, module: Path) -> None:
    """Compare with go.mod; a Go that fetches newer toolchains answers as the newer."""
    go_mod = (module / "go.mod").read_text(encoding="utf-8")
    wanted = re.search(r"^go (\d+)\.(\d+)", go_mod, re.MULTILINE)
    shown = _run_go([go, "env", "GOVERSION"], module, wanted="tell its version").strip()
    found = re.match(r"go(\d+)\.(\d+)", shown)
    if wanted is None or found is None:
        pytest.fail(f"Go's version cannot be told: {shown!r}", pytrace=False)
    if _numbers(found) < _numbers(wanted):
        needed = ".".join(wanted.groups())
        pytest.fail(
            f"Go is too old: {go} is {shown}, {module} needs {needed}; {_INSTALL}",
            pytrace=False,
        )


def _numbers(version: re.Match[str]) -> tuple[int, ...]:
    return tuple(int(number) for number in version.groups())


def _run_go(arguments: list[str], module: Path, *, wanted: str) -> str:
    done = subprocess.run(
        arguments,
        cwd=module,
        env={**os.environ, **ENVIRONMENT},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        pytest.fail(
            f"Go could not {wanted}: {_INSTALL}\n{done.stderr.strip()}", pytrace=False
        )
    return done.stdout
