"""etcd, kube-apiserver and kube-controller-manager on free ports of loopback.

Starting and ending is synchronous, and bound to no event loop, so that one control
plane can serve all tests of a session. What a test does to it while an extender runs
on the test's own loop (`ControlPlane.restart_apiserver`, `ControlPlane.compact`) is
asynchronous.
"""

import asyncio
import http.client
import json
import secrets
import shutil
import ssl
from base64 import b64encode
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

import yaml

from tests.control_plane.binaries import Binaries
from tests.control_plane.component import HOST, Component, ComponentError, free_port

_READY_SECONDS: Final = 120.0
"""It takes 4 s on an idle machine, and tests share theirs with compilers."""

_CONTROLLERS: Final = (
    "garbage-collector-controller",
    "namespace-controller",
    "resourcequota-controller",
    "deployment-controller",
    "replicaset-controller",
    "job-controller",
    "serviceaccount-controller",
    "validatingadmissionpolicy-status-controller",
)
"""Not the node controllers: no kubelet renews a lease here, so they would taint."""

_WITHOUT_ADMISSION: Final = (
    "ServiceAccount",  # nothing here runs, so no pod needs a token
    "TaintNodesByCondition",  # only the node controllers would remove its taint
)


class User(StrEnum):
    """Who may talk to the apiserver; each has a token and a kubeconfig."""

    ADMIN = "admin"
    """May do everything."""

    SCHEDULER = "system:kube-scheduler"
    """May do what Kubernetes' own roles give to kube-scheduler."""

    EXTENDER = "system:serviceaccount:gpu-extender:gpu-extender"
    """May do what ``manifests/base/rbac.yaml`` gives to its service account."""

    SHADOW = "system:serviceaccount:gpu-extender:gpu-extender-shadow"
    """May do what ``manifests/shadow-rbac.yaml`` gives to its service account."""

    NOBODY = "nobody"
    """May do nothing."""


_GROUPS: Final = {User.ADMIN: '"system:masters"'}


class ControlPlane:
    """A running control plane; `running` starts and ends it."""

    def __init__(
        self, binaries: Binaries, folder: Path, apiserver_flags: Sequence[str] = ()
    ) -> None:
        self.binaries = binaries
        self.folder = folder
        self.server = f"https://{HOST}:{free_port()}"
        self._etcd_port = free_port()
        self._tokens = {user: secrets.token_hex(16) for user in User}
        self.etcd = Component("etcd", self._etcd_command(), folder)
        self.apiserver = Component(
            "kube-apiserver",
            [*self._apiserver_command(), *apiserver_flags],
            folder,
            # With a watch open it would wait for a minute; etcd has everything.
            grace_seconds=1,
        )
        self.controller_manager = Component(
            "kube-controller-manager", self._controller_manager_command(), folder
        )

    @property
    def components(self) -> tuple[Component, ...]:
        """Every program, in the order in which they are ended."""
        return (self.controller_manager, self.apiserver, self.etcd)

    @property
    def certificate_authority(self) -> Path:
        """Certificates that vouch for the apiserver, which signed its own."""
        return self.folder / "certs" / "apiserver.crt"

    def token(self, user: User = User.ADMIN) -> str:
        """Give the bearer token of a user."""
        return self._tokens[user]

    def kubeconfig(self, user: User = User.ADMIN) -> Path:
        """Give the kubeconfig of a user."""
        return self.folder / f"{user.name.lower()}.kubeconfig"

    def start(self) -> None:
        """Start everything, and wait until the apiserver is ready.

        Raises:
            ComponentError: A program ended, or is not ready in time.
        """
        self._write_files()
        self.etcd.start()
        self._start_apiserver()
        self.controller_manager.start()

    def stop(self) -> None:
        """End everything and remove the data; logs stay.

        The apiserver goes before etcd: without etcd it hangs in its shutdown.
        """
        for component in self.components:
            component.stop()
        shutil.rmtree(self.folder / "etcd", ignore_errors=True)

    async def restart_apiserver(self) -> None:
        """End the apiserver and start it again on its port, with an empty watch cache.

        Every watch breaks, and connections are refused meanwhile.
        """
        await self.stop_apiserver()
        await self.start_apiserver()

    async def stop_apiserver(self) -> None:
        """End the apiserver; `start_apiserver` brings it back."""
        await asyncio.to_thread(self.apiserver.stop)

    async def start_apiserver(self) -> None:
        """Start the apiserver that `stop_apiserver` ended."""
        await asyncio.to_thread(self._start_apiserver)

    async def compact(self) -> int:
        """Make etcd forget all older revisions; give the one that it keeps.

        Lists that are continued across it end with 410. A watch from an older
        resourceVersion does so once the apiserver was restarted, too: until then its
        watch cache remembers.
        """
        return await asyncio.to_thread(self._compact)

    def _start_apiserver(self) -> None:
        self.apiserver.start()
        self.apiserver.wait_until(self._serves, seconds=_READY_SECONDS)

    def _serves(self) -> bool:
        paths = ("/readyz", "/api/v1/namespaces/default")
        return all(self._get(path) == http.client.OK for path in paths)

    def _get(self, path: str) -> int:
        if not self.certificate_authority.exists():
            return 0
        try:
            trust = ssl.create_default_context(cafile=str(self.certificate_authority))
        except ssl.SSLError:
            # It is being written.
            return 0
        address = self.server.removeprefix("https://")
        connection = http.client.HTTPSConnection(address, timeout=5, context=trust)
        try:
            headers = {"Authorization": f"Bearer {self.token()}"}
            connection.request("GET", path, headers=headers)
            return connection.getresponse().status
        except OSError:
            return 0
        finally:
            connection.close()

    def _compact(self) -> int:
        nothing = b64encode(b"\0").decode()
        header = self._ask_etcd("/v3/kv/range", {"key": nothing})["header"]
        revision = int(header["revision"])
        self._ask_etcd("/v3/kv/compaction", {"revision": revision, "physical": True})
        return revision

    def _ask_etcd(self, path: str, question: dict[str, Any]) -> dict[str, Any]:
        connection = http.client.HTTPConnection(HOST, self._etcd_port, timeout=30)
        try:
            connection.request("POST", path, body=json.dumps(question))
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        if answer.status != http.client.OK:
            raise ComponentError(f"etcd: {path}: {answer.status} {text!r}")
        read: dict[str, Any] = json.loads(text)
        return read

    def _write_files(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        rows = [
            f"{self.token(user)},{user},{user},{_GROUPS.get(user, '')}" for user in User
        ]
        (self.folder / "tokens.csv").write_text("\n".join(rows) + "\n")
        (self.folder / "service-accounts.key").write_text(_new_private_key())
        for user in User:
            self.kubeconfig(user).write_text(yaml.safe_dump(self._kubeconfig_of(user)))

    def _kubeconfig_of(self, user: User) -> dict[str, Any]:
        cluster = {
            "server": self.server,
            "certificate-authority": str(self.certificate_authority),
        }
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "local", "cluster": cluster}],
            "users": [{"name": str(user), "user": {"token": self.token(user)}}],
            "contexts": [
                {"name": "local", "context": {"cluster": "local", "user": str(user)}}
            ],
            "current-context": "local",
        }

    def _etcd_command(self) -> list[str | Path]:
        client = f"http://{HOST}:{self._etcd_port}"
        peer = f"http://{HOST}:{free_port()}"
        return [
            self.binaries.etcd,
            f"--data-dir={self.folder / 'etcd'}",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            "--unsafe-no-fsync",
            "--quota-backend-bytes=8589934592",
        ]

    def _apiserver_command(self) -> list[str | Path]:
        key = self.folder / "service-accounts.key"
        return [
            self.binaries.kube_apiserver,
            f"--etcd-servers=http://{HOST}:{self._etcd_port}",
            f"--secure-port={self.server.rpartition(':')[2]}",
            f"--bind-address={HOST}",
            f"--advertise-address={HOST}",
            "--endpoint-reconciler-type=none",
            f"--cert-dir={self.certificate_authority.parent}",
            f"--token-auth-file={self.folder / 'tokens.csv'}",
            "--authorization-mode=RBAC",
            "--service-account-issuer=https://kubernetes.default.svc",
            # A private key serves to verify as well.
            f"--service-account-key-file={key}",
            f"--service-account-signing-key-file={key}",
            "--service-cluster-ip-range=10.0.0.0/24",
            f"--disable-admission-plugins={','.join(_WITHOUT_ADMISSION)}",
            "--allow-privileged=true",
            "--profiling=false",
        ]

    def _controller_manager_command(self) -> list[str | Path]:
        key = self.folder / "service-accounts.key"
        return [
            self.binaries.kube_controller_manager,
            f"--kubeconfig={self.kubeconfig()}",
            "--secure-port=0",
            "--leader-elect=false",
            f"--service-account-private-key-file={key}",
            f"--controllers={','.join(_CONTROLLERS)}",
        ]


@contextmanager
def running(
    binaries: Binaries, folder: Path, apiserver_flags: Sequence[str] = ()
) -> Iterator[ControlPlane]:
    """Run a control plane in a folder, which keeps its logs; end it whatever happens.

    Args:
        binaries: What is run.
        folder: For logs, data and credentials.
        apiserver_flags: More flags of kube-apiserver, such as for an audit log.

    Raises:
        ComponentError: It did not come up.
    """
    plane = ControlPlane(binaries, folder, apiserver_flags)
    try:
        plane.start()
        yield plane
    finally:
        plane.stop()


def _new_private_key() -> str:
    """Make a key on P-256 as RFC 5915 writes it; any number will do for a secret."""
    secret = b"\0" + secrets.token_bytes(31)
    p256 = bytes.fromhex("a00a06082a8648ce3d030107")
    der = bytes.fromhex("30310201010420") + secret + p256
    name = "EC PRIVATE KEY"
    return f"-----BEGIN {name}-----\n{b64encode(der).decode()}\n-----END {name}-----\n"
