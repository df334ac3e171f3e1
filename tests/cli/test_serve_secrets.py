"""What gpu-extender serve prints and logs of its own credentials: nothing."""

import json
import subprocess
from pathlib import Path
from typing import Final

from tests.cli.command import command, environment
from tests.cli.test_serve import SECONDS

TOKEN: Final = "eyJhbGciOiJub25lIn0.secret"


def test_token_of_a_kubeconfig_is_never_shown(
    tmp_path: Path, unused_tcp_port: int
) -> None:
    """Also while the API server cannot be reached, and each try is logged."""
    server = {"server": f"http://127.0.0.1:{unused_tcp_port}"}
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(
        json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "c",
                "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
                "clusters": [{"name": "c", "cluster": server}],
                "users": [{"name": "u", "user": {"token": TOKEN}}],
            }
        )
    )
    process = subprocess.Popen(
        command("serve", "--kubeconfig", kubeconfig, "--listen", "127.0.0.1:0"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(no_proxy="127.0.0.1"),
    )
    try:
        assert process.stderr is not None
        said = process.stderr.readline()
        process.terminate()
        out, err = process.communicate(timeout=SECONDS)
    finally:
        process.kill()
    assert "127.0.0.1" in said
    assert TOKEN not in said + out + err
