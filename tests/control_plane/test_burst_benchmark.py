"""The benchmark's bursts end as they should, whoever is asked.

Each run has a control plane of its own. Only counts are looked at, never a time.
"""

import pytest

from benchmarks.burst.figures import Burst, Run
from benchmarks.burst.programs import CONTENDERS
from benchmarks.burst.run import run
from tests.control_plane.binaries import Binaries, Say

BURST = Burst(pods=6, limit_seconds=120.0)


def test_burst_over_mutual_tls_beside_pods_that_fit_nowhere(
    control_plane_binaries: Binaries, say: Say
) -> None:
    """kube-scheduler and ours know each other; pending pods stay what they are."""
    one = Run(
        node_count=2, contender=CONTENDERS["ours"], pending=5, is_secure=True, number=1
    )
    figures = run(BURST, one, control_plane_binaries, say)
    assert (figures.pods, figures.nodes_ideal) == (6, 1)
    assert figures.attempts["scheduled"] == 6
    assert figures.attempts_per_pod >= 1.0
    assert figures.writes_per_pod <= 3.0


@pytest.mark.parametrize("name", ["echo-served", "none"])
def test_burst_of_those_that_decide_nothing(
    control_plane_binaries: Binaries, say: Say, name: str
) -> None:
    """All pods run, and what plugins do is done where cards are named."""
    one = Run(node_count=2, contender=CONTENDERS[name], pending=5)
    figures = run(BURST, one, control_plane_binaries, say)
    assert (figures.attempts["scheduled"], figures.attempts_per_pod) == (6, 1.0)
    assert figures.refused_binds is None
    served = sum(figures.releases.values())
    assert served == (6 if CONTENDERS[name].allocates else 0)
