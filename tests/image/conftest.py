"""The Dockerfile, read once; and its stages, run once."""

from pathlib import Path
from typing import Final

import pytest

from tests.control_plane import binaries
from tests.image.bare_root import require_tools
from tests.image.dockerfile import Dockerfile, read
from tests.image.stages import Image, build

ROOT: Final = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def dockerfile_command(request: pytest.FixtureRequest) -> Path:
    """Give BuildKit's own reader, built once a machine."""
    reporter = request.config.pluginmanager.getplugin("terminalreporter")
    return binaries.built_dockerfile(reporter.write_line if reporter else print)


@pytest.fixture(scope="session")
def dockerfile(dockerfile_command: Path) -> Dockerfile:
    """Read the project's Dockerfile."""
    return read(dockerfile_command, ROOT)


@pytest.fixture(scope="session")
def image(dockerfile: Dockerfile, tmp_path_factory: pytest.TempPathFactory) -> Image:
    """Run the stages of the Dockerfile in bare roots; give the last one."""
    require_tools()
    return build(dockerfile, ROOT, tmp_path_factory.mktemp("stages"))
