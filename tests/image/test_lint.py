"""The Dockerfile keeps BuildKit's rules, and ours."""

from pathlib import Path
from typing import Final

import pytest

from tests.image.conftest import ROOT
from tests.image.dockerfile import Dockerfile, read

pytestmark = pytest.mark.verify

LABELS: Final = {"title", "description", "licenses", "version", "revision"}


def test_linter_is_silent(dockerfile: Dockerfile) -> None:
    """The rules of ``docker build --check`` have nothing to say."""
    assert dockerfile.warnings == ()


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        pytest.param("WORKDIR /build", "WORKDIR build", "WorkdirRelativePath"),
        pytest.param(" AS place", " as place", "FromAsCasing"),
        pytest.param("ARG REVISION=", "ARG SECRET_TOKEN=", "SecretsUsedInArgOrEnv"),
    ],
)
def test_linter_speaks(
    old: str, new: str, rule: str, dockerfile_command: Path, tmp_path: Path
) -> None:
    """What is wrong in a Dockerfile is told by the name of its rule."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    assert old in text
    (tmp_path / "Dockerfile").write_text(text.replace(old, new), encoding="utf-8")
    (tmp_path / ".dockerignore").touch()

    warnings = read(dockerfile_command, tmp_path).warnings

    assert any(f": {rule}: " in warning for warning in warnings), warnings


def test_several_stages_of_one_base(dockerfile: Dockerfile) -> None:
    """What builds stays behind; the base is pinned to a Python and a Debian."""
    assert len(dockerfile.stages) > 1
    assert {stage.base for stage in dockerfile.stages} == {"${BASE}"}
    assert dockerfile.arguments["BASE"].startswith("python:3.11-slim-")


def test_what_is_installed_is_locked(dockerfile: Dockerfile) -> None:
    """Every command of pip takes hashes, or nothing from elsewhere."""
    runs = [run for stage in dockerfile.stages for run in stage.all("RUN")]
    of_pip = [
        run.words for run in runs if "install" in run.words or "wheel" in run.words
    ]

    assert of_pip
    for words in of_pip:
        is_closed = {"--no-deps", "--no-index"} <= set(words)
        is_build = {"--no-deps", "--no-build-isolation"} <= set(words)
        assert "--require-hashes" in words or is_closed or is_build, words
        assert "--no-cache-dir" in words, words


def test_last_stage_is_not_root(dockerfile: Dockerfile) -> None:
    """By a number, as Kubernetes' runAsNonRoot demands; and it runs nothing as root."""
    last = dockerfile.stages[-1]

    assert last.only("USER").value == "65532:65532"
    assert last.all("RUN") == []


def test_last_stage_says_what_it_is(dockerfile: Dockerfile) -> None:
    """Labels of OCI; the version is the project's."""
    labels = dockerfile.stages[-1].values("LABEL")
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")

    assert set(labels) == {f"org.opencontainers.image.{name}" for name in LABELS}
    version = labels["org.opencontainers.image.version"]
    assert f'\nversion = "{version}"\n' in project


def test_health_is_asked_by_our_own_command(dockerfile: Dockerfile) -> None:
    """No shell and no curl are needed."""
    check = dockerfile.stages[-1].only("HEALTHCHECK")

    assert check.words == ("gpu-extender", "health")
    assert not check.is_shell


def test_context_is_small(dockerfile: Dockerfile) -> None:
    """The builder is sent the package and its locks: no tests, secrets or history."""
    outside = {file for file in dockerfile.context if not file.startswith("extender/")}

    assert outside == {
        "LICENSE",
        "README.md",
        "pyproject.toml",
        "requirements/build.txt",
        "requirements/runtime.txt",
    }
    assert not any("__pycache__" in file for file in dockerfile.context)
