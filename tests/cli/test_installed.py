"""Arguments of ``serve`` and files of kube-scheduler, as they are installed."""

from pathlib import Path

import pytest

from extender.cli.installed import (
    configuration_in,
    examine_installation,
    served_by,
)
from extender.core.kind_set import Kinds
from extender.core.kinds import NVIDIA
from extender.errors import BadObject, SettingsError
from extender.verbs.doctor.examination import Consulted, Examination
from extender.verbs.installation.documents import Demand, Served
from extender.wire.installation.deployment import argument_of, read_deployment
from tests.installed_documents import BASE, CONFIGURATION, manifests

NAMESPACE = "gpu-extender"
ACCOUNT = "system:serviceaccount:gpu-extender:gpu-extender"


def read(*arguments: str) -> Served:
    """Read arguments."""
    return served_by(["serve", *arguments], NAMESPACE, ACCOUNT)


def test_shipped_deployment() -> None:
    """What is installed is what the checks take for granted."""
    (shipped,) = manifests(BASE / "deployment.yaml")
    seen = read_deployment(shipped)
    assert seen.extender is not None
    served = served_by(seen.extender.arguments, seen.namespace, seen.account)
    files = (served.certificate_file, served.key_file)
    assert Served(certificate_file=files[0], key_file=files[1]) == served
    assert seen.scheduler_file() == ("gpu-extender-scheduler", "kube-scheduler.yaml")
    assert [seen.secret_file(file) for file in files] == [
        ("gpu-extender-tls", "tls.crt"),
        ("gpu-extender-tls", "tls.key"),
    ]
    assert seen.secret_file("/etc/elsewhere/tls.crt") is None


def test_flags_are_read_as_serve_reads_them() -> None:
    """Either way of writing; the verbs over TLS, or plain beside it."""
    tls = ("--tls-cert", "a/tls.crt", "--tls-key=a/tls.key")
    over_tls = read("--in-cluster", "--listen=[::1]:9", *tls, "--client-ca=a/ca.crt")
    assert (over_tls.host, over_tls.port) == ("::1", 9)
    assert (over_tls.has_tls, over_tls.asks_certificate) == (True, True)
    assert over_tls.webhook_port == 9
    plain = read("--in-cluster", *tls, "--plain-verbs", "--webhook-listen=0.0.0.0:9443")
    assert (plain.has_tls, plain.asks_certificate) == (False, False)
    assert plain.webhook_port == 9443
    named = read("--in-cluster", "--scheduler-name=a", "--scheduler-name", "b")
    assert named.scheduler_names == ("a", "b")
    assert argument_of(("--a=1", "--a", "2", "--b"), "--a") == "2"


@pytest.mark.parametrize(
    "arguments", [("--no-such-flag",), ("--listen=8080",), ("--help",)]
)
def test_arguments_that_serve_would_not_take(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """Such a container does not run; that is told, and nothing is printed."""
    with pytest.raises(SettingsError):
        read("--in-cluster", *arguments)
    assert capsys.readouterr() == ("", "")


def test_configuration_of_kube_scheduler() -> None:
    """YAML with comments, as it is shipped; anything else is named."""
    found = configuration_in(CONFIGURATION.read_bytes(), "file")
    assert found.profiles == ("gpu-scheduler",)
    assert found.lease == ("kube-system", "gpu-scheduler")
    for text, complaint in (
        (b"", "0 objects"),
        (b"kind: Pod", "KubeSchedulerConfiguration"),
        (b"kind: KubeSchedulerConfiguration\napiVersion: v1", "apiVersion"),
        (b"{", "JSON"),
    ):
        with pytest.raises(BadObject, match=complaint):
            configuration_in(text, "file")


def test_file_alone_is_looked_at(tmp_path: Path) -> None:
    """Without a cluster to ask, against an extender as it is installed."""
    demand = Demand(Kinds([NVIDIA]), frozenset([NVIDIA.type_word]), node_count=200)
    nothing = Examination((), (), 200, 0)
    assert examine_installation(nothing, demand) == nothing
    shipped = examine_installation(nothing, demand, scheduler_file=CONFIGURATION)
    assert shipped.diagnoses == ()
    assert shipped.consulted == (Consulted(str(CONFIGURATION)),)
    file = tmp_path / "scheduler.yaml"
    text = CONFIGURATION.read_text()
    file.write_text(text.replace("ignorable: false", "ignorable: true"))
    slipped = examine_installation(nothing, demand, scheduler_file=file)
    [told] = slipped.diagnoses
    assert (told.code, told.about) == ("SchedulerBindsItself", str(file))
    file.write_text(text.replace("httpTimeout: 30s", "httpTimeout: 30"))
    with pytest.raises(SettingsError, match="httpTimeout: 30 is not a duration"):
        examine_installation(nothing, demand, scheduler_file=file)
