"""Every command that a page shows in a ``sh`` block runs, and ends well.

``console`` blocks, which show output, are run by tests/contract/test_docs.py. A page's
``sh`` blocks run in order, each as one script, beside a control plane of the page's
own; ``kubectl`` and ``helm`` are the project's. What is changed for that stands in
`in_place_of`, and what is not run at all in `NOT_RUN`, with the reason.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from textwrap import dedent
from typing import Final

import pytest
import yaml

from tests.builders import Json
from tests.certificates import Authority
from tests.contract.test_docs import PAGES, ROOT
from tests.control_plane import plane
from tests.control_plane.binaries import Binaries
from tests.control_plane.component import free_port
from tests.control_plane.plane import ControlPlane

pytestmark = [pytest.mark.verify, pytest.mark.timeout(600, func_only=True)]

BLOCK: Final = re.compile(r"^( *)```sh\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)

NOT_RUN: Final = {
    "make setup": "this runs in what it made",
    "make test": "a part of the same check",
    "make verify": "this is a part of it",
    "make bench": "takes minutes; benchmarks have tests of their own",
    "make bench-full": "takes an hour",
    "make bench-compare": "needs a run of make bench before it",
    "kubectl -n gpu-extender rollout status": "needs pods that run; none does here",
    "gpu-extender certificate": "runs in the cluster; test_installation has it run",
    "kubectl port-forward": "needs a pod that runs; no container does here",
    "docker build": "needs a builder; tests/image runs the stages",
    "docker run": "needs a builder; tests/image serves what they made",
    "python -m benchmarks.http --url https://127.0.0.1:9443": "asks HAMi's scheduler",
}
"""Beginnings of commands, and why they are not run."""

SERVE_EXAMPLE: Final = "gpu-extender serve --cluster config/example-cluster.yaml"
"""Each page finds that served, until it serves something itself."""

SERVER: Final = """\
#!/bin/sh
# gpu-extender, but serve goes on in another terminal once it serves.
real="{python} -m extender"
if [ "$1" != serve ]; then exec $real "$@"; fi
if [ -e "{scratch}/served" ]; then  # the terminal is needed
  read -r before < "{scratch}/served"
  kill "$before"
  while kill -0 "$before" 2> /dev/null; do sleep 0.1; done
fi
case "$*" in *--listen*) ;; *) set -- "$@" --listen {address} ;; esac
out="{scratch}/serve-$$.out"
$real "$@" > "$out" 2>&1 &
echo $! > "{scratch}/served"
for _ in $(seq 300); do
  if grep -q "Ctrl-C stops" "$out"; then exit 0; fi
  if ! kill -0 $! 2> /dev/null; then break; fi
  sleep 0.1
done
cat "$out" >&2
exit 1
"""


def sh_blocks(page: Path) -> list[str]:
    """List the ``sh`` blocks of a page, without what is not run."""
    text = page.read_text(encoding="utf-8")
    return [kept for _, block in BLOCK.findall(text) if (kept := what_is_run(block))]


def what_is_run(block: str) -> str:
    """Leave out the commands of `NOT_RUN`."""
    commands = re.split(r"(?<!\\)\n", dedent(block))
    kept = [
        command
        for command in commands
        if command.strip() and not any(is_of(command, each) for each in NOT_RUN)
    ]
    return "\n".join(kept)


def is_of(command: str, beginning: str) -> bool:
    """Tell whether a command begins with these words."""
    return re.match(rf"{re.escape(beginning)}(\s|$)", command) is not None


WITH_COMMANDS: Final = [page for page in PAGES if sh_blocks(page)]


@pytest.fixture
def control_plane(
    control_plane_binaries: Binaries, tmp_path: Path
) -> Iterator[ControlPlane]:
    """Run a control plane with the example's nodes, which the page may change."""
    folder = tmp_path / "plane"
    folder.mkdir()
    with plane.running(control_plane_binaries, folder) as running:
        yield running


class Desk:
    """Where a reader sits: a checkout, a cluster, and some files of their own."""

    def __init__(
        self, folder: Path, control_plane: ControlPlane, helm_program: Path
    ) -> None:
        self.folder = folder / "desk"
        self.scratch = folder / "scratch"
        self.address = f"127.0.0.1:{free_port()}"
        self.kubeconfig = control_plane.kubeconfig()
        for each in (self.folder, self.scratch):
            each.mkdir()
        for entry in ROOT.iterdir():
            if entry.name not in {"build", ".git"}:
                (self.folder / entry.name).symlink_to(entry)
        self._install(control_plane, helm_program)
        self._write_files()

    def _install(self, control_plane: ControlPlane, helm_program: Path) -> None:
        commands = self.scratch / "bin"
        commands.mkdir()
        (commands / "kubectl").symlink_to(control_plane.binaries.kubectl)
        (commands / "helm").symlink_to(helm_program)
        server = SERVER.format(
            python=sys.executable, address=self.address, scratch=self.scratch
        )
        # Not a link, which would not know the packages of this Python.
        python = f'#!/bin/sh\nexec {sys.executable} "$@"\n'
        for name, text in (("gpu-extender", server), ("python", python)):
            (commands / name).write_text(text)
            (commands / name).chmod(0o755)

    def _write_files(self) -> None:
        pod = self.folder / "config" / "pods" / "init-then-app.yaml"
        shutil.copy(pod, self.folder / "my-pod.yaml")
        shutil.copy(ROOT / "config" / "device-config.yaml", self.folder)
        shutil.copy(self.kubeconfig, self.folder / "shadow.kubeconfig")
        authority = Authority(self.scratch, "scheduler-ca")
        own = authority.server()
        shutil.copy(own.cert_file, self.folder / "tls.crt")
        shutil.copy(own.key_file, self.folder / "tls.key")
        shutil.copy(authority.cert_file, self.folder / "scheduler-ca.crt")
        shutil.copy(authority.cert_file, self.folder / "ca.crt")

    @property
    def environment(self) -> Mapping[str, str]:
        """The reader's: the cluster is the current one, and nothing is edited."""
        path = os.pathsep.join([str(self.scratch / "bin"), os.environ["PATH"]])
        return {
            "PATH": path,
            "HOME": str(self.scratch),
            "KUBECONFIG": str(self.kubeconfig),
            "PYTHONPATH": str(ROOT),
            "EDITOR": "true",
        }

    def run(self, script: str, stdin: str = "") -> "subprocess.CompletedProcess[str]":
        """Run a script, which ends at the first command that fails."""
        output = self.scratch / "output"
        with output.open("w") as file:
            # A file, since servers that go on would keep a pipe open.
            done = subprocess.run(
                ["/bin/sh", "-e", "-c", script],
                cwd=self.folder,
                env=self.environment,
                input=stdin,
                stdout=file,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
                timeout=240,
            )
        done.stdout = output.read_text()
        return done

    def stop_server(self) -> None:
        """End what still serves."""
        served = self.scratch / "served"
        if served.exists():
            subprocess.run(["kill", served.read_text().strip()], check=False)


def in_place_of(text: str, desk: Desk) -> str:
    """Change what a block says to what is at hand; all of it stands here."""
    return (
        text.replace(".venv/bin/", "")
        .replace("127.0.0.1:8080", desk.address)
        .replace("localhost:8080", desk.address)
        .replace("0.0.0.0:8443", "127.0.0.1:0")
        .replace("/tmp/", f"{desk.scratch}/")
        .replace("/etc/gpu-extender/", f"{desk.folder}/")
        .replace("--in-cluster", f"--kubeconfig {desk.kubeconfig}")
        .replace("--nodes 1000", "--nodes 10")
    )


@pytest.fixture
def desk(
    control_plane: ControlPlane, helm_program: Path, tmp_path: Path
) -> Iterator[Desk]:
    """Give a desk at a cluster with nodes, and the objects that pages name."""
    made = Desk(tmp_path, control_plane, helm_program)
    text = (ROOT / "config" / "example-cluster.yaml").read_text(encoding="utf-8")
    items = yaml.safe_load(text)["items"]
    objects = [each for each in items if each["kind"] == "Node"]
    limits = {"nvidia.com/gpu": 1, "nvidia.com/gpumem": 8000}
    for namespace, name in NAMED_PODS:
        container = {"name": "a", "image": "a", "resources": {"limits": limits}}
        objects.append(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": name, "namespace": namespace},
                "spec": {"schedulerName": "nobody", "containers": [container]},
            }
        )
    objects.append({**objects[0], "metadata": {"name": "gpu-01"}})
    objects += hami()
    for each in objects:
        for given in ("uid", "resourceVersion", "creationTimestamp"):
            each["metadata"].pop(given, None)
    listed = yaml.safe_dump_all(objects)
    done = made.run(f"kubectl create -f -\n{SERVE_EXAMPLE}", listed)
    assert done.returncode == 0, done.stdout
    yield made
    made.stop_server()


def hami() -> list[Json]:
    """Make what HAMi's chart installs, as far as pages name it."""
    labels = {"app": "hami-scheduler"}
    container = {"name": "scheduler", "image": "a"}
    of_pods = {
        "metadata": {"labels": labels},
        "spec": {"containers": [container]},
    }
    config = (ROOT / "config" / "device-config.yaml").read_text(encoding="utf-8")
    return [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "hami-scheduler-device", "namespace": "kube-system"},
            "data": {"device-config.yaml": config},
        },
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "hami-scheduler", "namespace": "kube-system"},
            "spec": {
                "replicas": 0,
                "selector": {"matchLabels": labels},
                "template": of_pods,
            },
        },
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "MutatingWebhookConfiguration",
            "metadata": {"name": "hami-webhook"},
            "webhooks": [],
        },
    ]


NAMED_PODS: Final = (("default", "train-0"), ("kube-system", "hami-device-plugin-x"))
"""Pods that pages name, and one that they look for."""


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=lambda page: page.name)
def test_commands_run(page: Path, desk: Desk) -> None:
    """A reader who types what a page shows meets no error."""
    for block in sh_blocks(page):
        done = desk.run(in_place_of(block, desk))
        assert done.returncode == 0, f"{block}\n\n{done.stdout}"


def test_what_is_not_run_is_shown_somewhere() -> None:
    """A reason for a command that no page shows any more is removed."""
    shown = [
        command.strip()
        for page in PAGES
        for _, block in BLOCK.findall(page.read_text(encoding="utf-8"))
        for command in re.split(r"(?<!\\)\n", dedent(block))
    ]

    unused = [each for each in NOT_RUN if not any(is_of(one, each) for one in shown)]
    assert unused == []
