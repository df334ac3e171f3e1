"""A root directory with a Python and nothing else, in which a stage's commands run.

It stands for the base image where no builder is at hand: the machine's C library, its
Python at /usr/local, and no file of the checkout. Each command has a mount namespace of
its own, so nothing is left mounted.
"""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

import pytest

from tests.image.dockerfile import replaced

_SECONDS: Final = 600
_TOOLS: Final = ("unshare", "chroot", "mount")
_OF_THE_MACHINE: Final = ("/etc/ssl", "/etc/ld.so.cache", "/etc/nsswitch.conf")
"""What a base image has of its own."""

_OF_THE_NETWORK: Final = ("/etc/resolv.conf", "/etc/hosts")
"""What a builder puts in."""

_BASE_ENVIRONMENT: Final = {
    "PATH": "/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin",
    # The image of Python has its libpython in the cache of the linker.
    "LD_LIBRARY_PATH": "/usr/local/lib",
    "LANG": "C.UTF-8",
}

_GIVEN: Final = ("PIP_", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy")
_ALSO_GIVEN: Final = ("https_proxy", "no_proxy", "SSL_CERT_", "REQUESTS_CA_BUNDLE")
"""Beginnings of the names of variables that tell how an index is reached; a builder is
given them as build arguments."""


class BareRoot:
    """One stage's root; whoever made its folder removes it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("usr", "etc", "proc", "dev", "tmp", "root"):
            (folder / name).mkdir(parents=True, mode=0o755)
        (folder / "tmp").chmod(0o1777)
        for name in ("bin", "sbin", "lib", "lib64"):
            (folder / name).symlink_to(f"usr/{name}")
        self._environment: dict[str, str] = dict(_BASE_ENVIRONMENT)
        self.user = ""
        self.workdir = "/"

    def inside(self, path: str) -> Path:
        """Give where a path of the root is on the machine."""
        assert not path.startswith("/usr/"), f"{path} is the machine's own"
        return self.folder / path.lstrip("/")

    def set(self, environment: Mapping[str, str]) -> None:
        """Do as ENV: a value may name variables that are set already."""
        before = dict(self._environment)
        for name, value in environment.items():
            self._environment[name] = replaced(value, before)

    def command(
        self,
        words: Sequence[str],
        *,
        is_given_the_index: bool = False,
        environment: Mapping[str, str] | None = None,
    ) -> list[str]:
        """Give the command line that runs words in the root.

        Args:
            words: Program and arguments; the program is looked up in the root's PATH.
            is_given_the_index: Whether it is told how to reach a package index.
            environment: Variables besides those of the root.
        """
        given = _given() if is_given_the_index else {}
        variables = {**given, **self._environment, **(environment or {})}
        user = [f"--userspec={self.user}", "--groups="] if self.user else []
        inner = [
            *("chroot", *user, str(self.folder), "/usr/bin/env", "-i"),
            *(f"--chdir={self.workdir}",),
            *(f"{name}={value}" for name, value in variables.items()),
            *words,
        ]
        mounts = [self._mount(*each) for each in self._mounts(given.values())]
        script = "\n".join(["set -e", *mounts, f"exec {shlex.join(inner)}"])
        return [*_unshare(), "sh", "-c", script]

    def run(
        self,
        words: Sequence[str],
        *,
        is_given_the_index: bool = False,
        environment: Mapping[str, str] | None = None,
    ) -> "subprocess.CompletedProcess[str]":
        """Run words in the root, and wait."""
        return subprocess.run(
            self.command(
                words, is_given_the_index=is_given_the_index, environment=environment
            ),
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
            timeout=_SECONDS,
        )

    def _mounts(self, named: Iterable[str]) -> list[tuple[str, str]]:
        """List what is bound: a path of the machine, and where."""
        mounts = [("/usr", "/usr"), ("/dev", "/dev"), ("/proc", "/proc")]
        if sys.base_prefix != "/usr":
            mounts.append((sys.base_prefix, "/usr/local"))
        paths = [*_OF_THE_MACHINE, *_OF_THE_NETWORK, *named]
        for path in dict.fromkeys(paths):
            is_covered = path.startswith("/etc/ssl/")
            if path.startswith("/") and Path(path).exists() and not is_covered:
                mounts.append((str(Path(path).resolve()), path))
        return mounts

    def _mount(self, source: str, target: str) -> str:
        place = self.folder / target.lstrip("/")
        if not target.startswith("/usr/") and not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            if Path(source).is_dir():
                place.mkdir()
            else:
                place.touch()
        return f"mount --rbind {shlex.quote(source)} {shlex.quote(str(place))}"


def require_tools() -> None:
    """Fail the test by name where a bare root cannot be made."""
    missing = [tool for tool in _TOOLS if shutil.which(tool) is None]
    if missing:
        pytest.fail(f"{', '.join(missing)}: missing; the stages run in a bare root")
    done = subprocess.run(
        [*_unshare(), "true"], capture_output=True, text=True, check=False, timeout=60
    )
    if done.returncode:
        pytest.fail(
            "no bare root can be made: be root, or have user namespaces with ranges of "
            f"ids (/etc/subuid, newuidmap): {done.stderr.strip()}"
        )


def _unshare() -> list[str]:
    """Give a namespace of mounts; and where this is not root, one of users, too."""
    users = [] if os.geteuid() == 0 else ["--user", "--map-root-user", "--map-auto"]
    return ["unshare", *users, "--mount", "--propagation", "private"]


def _given() -> dict[str, str]:
    beginnings = (*_GIVEN, *_ALSO_GIVEN)
    return {
        name: value for name, value in os.environ.items() if name.startswith(beginnings)
    }
