"""HAMi's device-config.yaml: what each vendor's resources are called.

Belongs here: from that file's text to kinds, and what is wrong in it, all at once.

Does not belong here: what a kind's rules mean (`extender.core.request_rules`), and what
its plugin reads (`extender.wire.side_annotations`).
"""

from extender.wire.device_config.reading import read_device_config

__all__ = ["read_device_config"]
