"""Which kubeconfig counts where none is given: kubectl's."""

import os
from pathlib import Path
from typing import Final

DEFAULT_KUBECONFIG: Final = "$KUBECONFIG or ~/.kube/config"


def default_kubeconfig() -> Path | None:
    """Find the kubeconfig that kubectl would take; None where there is none.

    Several files in ``$KUBECONFIG`` are one, as kubectl merges them.
    """
    named = os.environ.get("KUBECONFIG")
    if named:
        return Path(named)
    usual = Path.home() / ".kube" / "config"
    return usual if usual.exists() else None
