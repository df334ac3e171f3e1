"""Which cluster is looked at: exactly one source, and what is wrong with it by name."""

import os
import time
from pathlib import Path

import pytest

from extender.cli.server import Server
from extender.cli.source import Source
from extender.core.names import NodeName
from extender.errors import SettingsError, Unreachable
from extender.verbs.origin import Origin, OriginKind
from tests.builders import node, pod
from tests.cli.command import gpu_extender, listed


def test_files_are_seen_as_they_are(tmp_path: Path) -> None:
    """Locks, and pods that wait for their devices, too; and how old the files are."""
    one, other = tmp_path / "one.json", tmp_path / "other.json"
    lock = "2026-01-01T00:00:00Z,t,h"
    held = (
        pod("h", "t")
        .app("a", gpu=1, gpumem=9_000)
        .holding("GPU-a,NVIDIA,9000,0:;")
        .annotations({"hami.io/bind-phase": "allocating"})
        .on("n1")
        .phase("Pending")
    )
    one.write_text(
        listed(node("n1").gpu("GPU-a").annotations({"hami.io/mutex.lock": lock}))
    )
    other.write_text(listed(held))
    old = time.time() - 7_200
    os.utime(one, (old, old))
    world = Source(files=(one, other)).world()
    assert world.extender.ledger.nodes[NodeName("n1")].lock == lock
    [shown] = world.extender.ledger.pods_on(NodeName("n1"))
    assert shown.is_unserved
    origin = world.origin
    assert (origin.kind, origin.where) == (OriginKind.FILES, (str(one), str(other)))
    assert origin.age_seconds is not None
    assert 7_200 <= origin.age_seconds < 7_260


def test_origin_for_people() -> None:
    """What is asked now has no age."""
    told = str(Origin(OriginKind.EXTENDER, ("https://127.0.0.1:8443",)))
    assert told == "extender https://127.0.0.1:8443"


def test_context_goes_with_a_kubeconfig(tmp_path: Path) -> None:
    """A context of no file is a slip."""
    file = tmp_path / "cluster.json"
    file.write_text(listed(node("n1").gpu("GPU-a")))
    outcome = gpu_extender("quota", "--cluster", file, "--context", "x")
    assert outcome.code == 2
    assert outcome.complaint == "Error: --context needs --kubeconfig"


def test_context_that_is_not_there(tmp_path: Path) -> None:
    """It is named."""
    file = tmp_path / "config"
    file.write_text(
        '{"apiVersion": "v1", "kind": "Config", "current-context": "a", "contexts": '
        '[{"name": "a", "context": {"cluster": "c", "user": "u"}}], "users": '
        '[{"name": "u", "user": {}}], "clusters": [{"name": "c", "cluster": '
        '{"server": "http://127.0.0.1:1"}}]}'
    )
    outcome = gpu_extender("quota", "--kubeconfig", file, "--context", "other")
    assert outcome.code == 2
    assert "other" in outcome.complaint


@pytest.mark.parametrize(
    ("server", "complaint"),
    [
        (["127.0.0.1:8080"], "expected http:// or https:// and HOST:PORT"),
        (["ftp://h:1"], "expected http:// or https:// and HOST:PORT"),
        (["http://h:1/explain"], "expected http:// or https:// and HOST:PORT"),
        (["http://h:99999"], "Port out of range"),
        (["http://me:secret@h:1"], "takes no user name or password"),
        (["http://h:1", Path("ca")], "--server-ca needs an https:// URL"),
        (["https://h:1", None, None, Path("k")], "--server-key needs --server-cert"),
    ],
)
def test_server_that_is_none(server: list[str | Path | None], complaint: str) -> None:
    """Before anything is sent, and without telling a password."""
    with pytest.raises(SettingsError) as refused:
        Server(*server)  # type: ignore[arg-type]
    assert complaint in str(refused.value)
    assert "secret" not in str(refused.value)


def test_nobody_answers() -> None:
    """That is told by the URL."""
    with pytest.raises(Unreachable, match=r"--server http://127\.0\.0\.1:1: "):
        Server("http://127.0.0.1:1").ask("/explain/a/b")
