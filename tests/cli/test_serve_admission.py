"""gpu-extender serve: whose pods the admission webhook takes over."""

import json
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest

from tests.admission import new_pod, read_answer, review
from tests.builders import pod
from tests.cli.command import EXAMPLE, gpu_extender
from tests.cli.test_serve import SECONDS, serving

DEFAULT = "default-scheduler"

NAMES: dict[str, tuple[list[str], str, str]] = {
    "no flags": ([], DEFAULT, "gpu-scheduler"),
    "HAMi's": (["--scheduler-name=hami-scheduler"], DEFAULT, "hami-scheduler"),
    "the second of two": (
        ["--scheduler-name", "one", "--scheduler-name", "two"],
        "two",
        "two",
    ),
    "not the default's": (
        ["--force-overwrite-default-scheduler=false"],
        DEFAULT,
        DEFAULT,
    ),
    "the default's, as Go takes it": (
        ["--force-overwrite-default-scheduler"],
        DEFAULT,
        "gpu-scheduler",
    ),
}


@pytest.mark.parametrize(("options", "name", "became"), NAMES.values(), ids=NAMES)
def test_scheduler_name(options: list[str], name: str, became: str) -> None:
    """The flags of HAMi do what they do there; several names are one too many there."""
    shown = new_pod(pod("p").app("a", gpu=1))
    shown["spec"]["schedulerName"] = name
    asked = review(shown)
    with serving(EXAMPLE, options=options) as (process, url, _):
        caller = HTTPConnection(urlsplit(url).netloc, timeout=SECONDS)
        caller.request("POST", "/webhook", json.dumps(asked))
        answer = read_answer(asked, caller.getresponse().read())
        caller.close()
        process.terminate()
        assert process.wait(timeout=SECONDS) == 0
    assert answer.pod["spec"]["schedulerName"] == became


@pytest.mark.parametrize("name", ["", "Two Words", "a\nb", "-a"])
def test_name_that_no_pod_can_have(name: str) -> None:
    """One line on standard error, and exit code 2."""
    outcome = gpu_extender("serve", "--cluster", EXAMPLE, f"--scheduler-name={name}")
    assert outcome.code == 2
    assert "Invalid value for '--scheduler-name'" in outcome.err
