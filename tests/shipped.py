"""The kinds of ``config/device-config.yaml``, by word."""

from pathlib import Path
from typing import Final

from extender.core.kinds import Kind
from extender.wire.device_config import read_device_config

SHIPPED_FILE: Final = Path(__file__).parents[1] / "config" / "device-config.yaml"

SHIPPED: Final[dict[str, Kind]] = {
    kind.type_word: kind
    for kind in read_device_config(SHIPPED_FILE.read_bytes(), str(SHIPPED_FILE))
}
