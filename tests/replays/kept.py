"""Keep what is decided now on the state of a reported snapshot: FILE NAME.

Read what changed before it is kept: it is the claim of a test from then on.
"""

import sys
from dataclasses import replace
from pathlib import Path

from extender.service.snapshots import decided
from extender.verbs.snapshot.anonymous import anonymous
from extender.verbs.snapshot.differences import differences
from extender.wire.snapshots import decode_snapshot, encode_snapshot, packed
from tests.replays.made import HERE


def keep(file: Path, name: str) -> Path:
    """Write a snapshot's state with what is decided now, under other names."""
    reported = decode_snapshot(file.read_bytes())
    now = decided(reported)
    for each in differences(reported.head.decision, now):
        sys.stdout.write(f"{each.about}: {each.saved} -> {each.replayed}\n")
    head = replace(reported.head, decision=now)
    kept = replace(reported, head=head)
    if not head.is_anonymous:
        kept = anonymous(kept)
    written = HERE / f"{name}.json.gz"
    written.write_bytes(packed(encode_snapshot(kept)))
    return written


if __name__ == "__main__":
    sys.stdout.write(f"{keep(Path(sys.argv[1]), sys.argv[2])}\n")
