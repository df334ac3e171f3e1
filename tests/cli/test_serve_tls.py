"""gpu-extender serve with TLS: its flags, and what it says of those that are wrong."""

import ssl
from contextlib import closing
from http.client import HTTPSConnection
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
