"""Prometheus' own judgement of what is scraped, and of each alert."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.control_plane.binaries import built_promtool
from tests.monitoring.alerts import ALERTS, rules
from tests.monitoring.test_monitoring import unit_test
from tests.scraped import full_exposition

pytestmark = [pytest.mark.verify, pytest.mark.timeout(3_600)]


@pytest.fixture(scope="module")
def promtool() -> Path:
    """Give promtool, built once from the module that is pinned."""
    return built_promtool(say)


def say(text: str) -> None:
    """Tell whoever waits for the build."""
    sys.stderr.write(f"{text}\n")


def run(promtool: Path, *arguments: str, given: str = "") -> tuple[int, str]:
    """Run it; gives exit code, and all that it said."""
    done = subprocess.run(
        [promtool, *arguments],
        input=given,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=120,
    )
    return done.returncode, done.stdout


async def test_exposition_is_linted(promtool: Path) -> None:
    """A whole scrape, without HAMi's names, gives no complaint."""
    text = await full_exposition()
    ours = "".join(
        line
        for line in text.splitlines(keepends=True)
        if not line.removeprefix("# HELP ").removeprefix("# TYPE ").startswith("hami_")
    )
    assert run(promtool, "check", "metrics", given=ours) == (0, "")


def test_wrong_exposition_is_found(promtool: Path) -> None:
    """The test above can fail."""
    wrong = "# HELP x_total It.\n# TYPE x_total gauge\nx_total 1\n"
    code, said = run(promtool, "check", "metrics", given=wrong)
    assert code != 0
    assert "x_total" in said


@pytest.fixture(scope="module")
def rules_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write what Prometheus Operator would give to Prometheus."""
    file = tmp_path_factory.mktemp("rules") / "rules.yaml"
    file.write_text(yaml.safe_dump(rules()))
    return file


def test_rules_are_linted(promtool: Path, rules_file: Path) -> None:
    """Syntax of expressions and templates."""
    code, said = run(promtool, "check", "rules", "--lint=all", str(rules_file))
    assert code == 0, said


def test_each_alert_fires_and_is_quiet(promtool: Path, rules_file: Path) -> None:
    """By its own expression, on series that are made for it."""
    tests = {
        "rule_files": [str(rules_file)],
        "evaluation_interval": "1m",
        "tests": [
            unit_test(alert, fires=fires) for alert in ALERTS for fires in (True, False)
        ],
    }
    file = rules_file.with_name("tests.yaml")
    file.write_text(yaml.safe_dump(tests))
    code, said = run(promtool, "test", "rules", str(file))
    assert code == 0, said


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert.name)
def test_each_unit_test_can_fail(
    alert: object, promtool: Path, rules_file: Path
) -> None:
    """With what fires and what is quiet swapped, promtool complains."""
    (one,) = [each for each in ALERTS if each is alert]
    swapped = unit_test(one, fires=True)
    swapped["input_series"] = unit_test(one, fires=False)["input_series"]
    tests = {"rule_files": [str(rules_file)], "evaluation_interval": "1m"}
    file = rules_file.with_name(f"{one.name}.yaml")
    file.write_text(yaml.safe_dump({**tests, "tests": [swapped]}))
    code, _ = run(promtool, "test", "rules", str(file))
    assert code != 0
