"""gpu-extender serve with TLS: its flags, and what it says of those that are wrong."""

import ssl
from contextlib import closing
from http.client import HTTPConnection, HTTPSConnection
from pathlib import Path

import pytest

from tests.certificates import Authority
from tests.cli.command import EXAMPLE, gpu_extender
from tests.cli.test_serve import SECONDS, ask, serving

NAME = "kube-scheduler"


def test_serve_over_tls(tmp_path: Path) -> None:
    """The URL is https; the named client gets all, others what probes need."""
    authority = Authority(tmp_path, "authority")
    own, client = authority.server(), authority.client(NAME)
    options = [
        *("--tls-cert", str(own.cert_file), "--tls-key", str(own.key_file)),
        *("--client-ca", str(authority.cert_file)),
        *("--client-name", "another", "--client-name", NAME),
    ]
    anybody = ssl.create_default_context(cafile=authority.cert_file)
    known = ssl.create_default_context(cafile=authority.cert_file)
    known.load_cert_chain(client.cert_file, client.key_file)
    with serving(EXAMPLE, options=options) as (process, url, _):
        scheme, _, address = url.partition("://")
        assert scheme == "https"
        for context, status in ((known, 200), (anybody, 403)):
            opened = HTTPSConnection(address, timeout=SECONDS, context=context)
            with closing(opened) as caller:
                assert ask(caller, "/readyz") == (200, b"ok\n")
                assert ask(caller, "/pods")[0] == status
        process.terminate()
        assert process.wait(timeout=SECONDS) == 0


def test_serve_on_addresses_of_their_own(tmp_path: Path) -> None:
    """Each URL is told, and verbs alone ask for a certificate."""
    authority = Authority(tmp_path, "authority")
    own = authority.server()
    options = [
        *("--tls-cert", str(own.cert_file), "--tls-key", str(own.key_file)),
        *("--client-ca", str(authority.cert_file)),
        *("--metrics-listen", "127.0.0.1:0", "--webhook-listen", "127.0.0.1:0"),
    ]
    anybody = ssl.create_default_context(cafile=authority.cert_file)
    with serving(EXAMPLE, options=options) as (process, _, printed):
        assert process.stdout is not None
        while "POST /filter" not in printed[-1]:
            printed.append(process.stdout.readline())
        printed.append(process.stdout.readline())
        told = [line for line in printed if line.startswith("serving on ")]
        parts = {line.split(": ")[1].strip(): line.split()[2][8:-1] for line in told}
        assert list(parts) == [
            "webhook",
            "health and metrics",
            "POST /filter /prioritize /bind /pods",
        ]
        assert printed[-1].split() == ["GET", "/pods", "Ctrl-C", "stops"]
        for (part, address), status in zip(parts.items(), (404, 200, 403), strict=True):
            path = "/pods" if status == 403 else "/metrics"
            opened = HTTPSConnection(address, timeout=SECONDS, context=anybody)
            with closing(opened) as caller:
                assert ask(caller, path)[0] == status, part


def test_plain_http_for_others_is_refused() -> None:
    """One line that says what to do, and exit code 2."""
    outcome = gpu_extender("serve", "--cluster", EXAMPLE, "--listen", "0.0.0.0:0")
    assert outcome.code == 2
    (line,) = outcome.err.splitlines()
    assert line.startswith("gpu-extender: --listen 0.0.0.0:0: plain HTTP is served on ")
    assert "Give --tls-cert and --tls-key; or --insecure-http" in line


def test_plain_http_for_others_by_its_flag() -> None:
    """It is served, and the log says so."""
    options = ["--insecure-http"]
    with serving(EXAMPLE, listen="0.0.0.0:0", options=options) as (process, url, _):
        port = int(url.rpartition(":")[2])
        with closing(HTTPConnection("127.0.0.1", port, timeout=SECONDS)) as caller:
            assert ask(caller, "/readyz")[0] == 200
        process.terminate()
        _, err = process.communicate(timeout=SECONDS)
    assert "plain HTTP is served to other machines" in err


USAGES = {
    "a certificate alone": (
        ["--tls-cert", "a"],
        "--tls-cert and --tls-key go together",
    ),
    "a key alone": (["--tls-key", "a"], "--tls-cert and --tls-key go together"),
    "names without a CA": (
        ["--tls-cert", "a", "--tls-key", "b", "--client-name", "c"],
        "--client-name needs --client-ca",
    ),
    "a webhook without TLS": (
        ["--webhook-listen", "127.0.0.1:0"],
        "--webhook-listen needs --tls-cert and --tls-key",
    ),
    "metrics nowhere": (
        ["--metrics-listen", "nowhere"],
        "--metrics-listen 'nowhere': expected HOST:PORT",
    ),
    "a CA without TLS": (["--client-ca", "a"], "need --tls-cert and --tls-key"),
    "names without TLS": (["--client-name", "a"], "need --tls-cert and --tls-key"),
    "no such file": (
        ["--tls-cert", "/nowhere/a", "--tls-key", "b"],
        "--tls-cert /nowhere/a: No such file or directory",
    ),
}


@pytest.mark.parametrize(("options", "said"), USAGES.values(), ids=USAGES)
def test_flags_that_cannot_be_used(options: list[str], said: str) -> None:
    """One line on standard error, and exit code 2."""
    outcome = gpu_extender("serve", "--cluster", EXAMPLE, *options)
    assert outcome.code == 2
    (line,) = outcome.err.splitlines()
    assert line.startswith("gpu-extender: ")
    assert said in line
