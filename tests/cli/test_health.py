"""gpu-extender health: an answer, and what it says of those that are none."""

import socket
from pathlib import Path

import pytest

from tests.certificates import Authority
from tests.cli.command import EXAMPLE, gpu_extender
from tests.cli.test_serve import serving


def test_server_that_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit code 0 for both questions; the URL may come from the environment."""
    with serving(EXAMPLE) as (_, url, _):
        assert gpu_extender("health", "--url", url).out == "ok\n"
        assert gpu_extender("health", "--url", f"{url}/", "--ready").code == 0
        monkeypatch.setenv("GPU_EXTENDER_HEALTH_URL", url)
        assert gpu_extender("health").code == 0


def test_server_over_tls(tmp_path: Path) -> None:
    """Any certificate will do, unless an authority is named: then only its own."""
    authority, another = (Authority(tmp_path, name) for name in ("one", "another"))
    own = authority.server()
    options = ["--tls-cert", str(own.cert_file), "--tls-key", str(own.key_file)]
    with serving(EXAMPLE, options=options) as (_, url, _):
        assert gpu_extender("health", "--url", url).code == 0
        asked = ("health", "--url", url, "--ca")
        assert gpu_extender(*asked, authority.cert_file).code == 0
        refused = gpu_extender(*asked, another.cert_file)
        assert refused.code == 1
        assert "certificate verify failed" in refused.complaint
        assert gpu_extender(*asked, tmp_path / "nowhere.crt").code == 1


def test_nobody_listens() -> None:
    """Exit code 1, in one line."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        outcome = gpu_extender("health", "--url", url)
    assert outcome.code == 1
    assert outcome.complaint.startswith(f"gpu-extender: {url}/healthz: ")


def test_somebody_who_says_nothing() -> None:
    """Exit code 1 once the time is over."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        outcome = gpu_extender("health", "--url", url, "--timeout", "0.2")
    assert outcome.code == 1
    assert outcome.complaint == f"gpu-extender: {url}/healthz: timed out"


def test_answer_that_is_no() -> None:
    """Exit code 1, with what is said: here by an address that does not serve health."""
    options = ["--metrics-listen", "127.0.0.1:0"]
    with serving(EXAMPLE, options=options) as (process, _, printed):
        assert process.stdout is not None
        while "POST /filter" not in printed[-1]:
            printed.append(process.stdout.readline())
        verbs = printed[-1].split()[2].rstrip(":")
        outcome = gpu_extender("health", "--url", verbs)
    assert outcome.code == 1
    assert f"{verbs}/healthz: 404 " in outcome.complaint


@pytest.mark.parametrize(
    "url", ["127.0.0.1:8080", "ftp://a", "http://", "http://a:b", "http://a/healthz"]
)
def test_url_that_cannot_be_used(url: str) -> None:
    """Exit code 2; the option and its value are named."""
    outcome = gpu_extender("health", "--url", url)
    assert outcome.code == 2
    assert f"--url {url!r}: " in outcome.complaint


def test_authority_without_https(tmp_path: Path) -> None:
    """It would vouch for nothing."""
    outcome = gpu_extender("health", "--ca", tmp_path / "ca.crt")
    assert outcome.code == 2
    assert "--ca needs a --url of https" in outcome.complaint
