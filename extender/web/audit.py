"""What ``/debug/audit`` answers."""

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

import orjson

from extender.state.audit import Difference
from extender.state.ledger_view import LedgerView


def encode_audit(ledger: LedgerView, differences: Iterable[Difference]) -> bytes:
    """Tell what an audit found, and which cards hold more than they have."""
    overfull = [
        {
            "node": node_name,
            "device": device_uuid,
            "cause": cause.value,
            "held": asdict(held),
            "capacity": asdict(capacity),
        }
        for node_name, causes in ledger.overfull.causes.items()
        for device_uuid, (held, capacity) in ledger.overfull_on(node_name).items()
        if (cause := causes.get(device_uuid)) is not None
    ]
    told: dict[str, Any] = {
        "nodes": len(ledger.nodes),
        "pods": len(ledger.pods),
        "reservations": ledger.reservation_count,
        "differences": [
            {
                "subject": each.subject,
                "recorded": str(each.recorded),
                "recomputed": str(each.recomputed),
            }
            for each in differences
        ],
        "overfull": overfull,
    }
    return orjson.dumps(told, option=orjson.OPT_APPEND_NEWLINE)
