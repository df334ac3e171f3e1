"""What the yardstick answers is what an extender may answer."""

import orjson
import pytest

from benchmarks.echo import equal_scores


@pytest.mark.parametrize("names", [[], ["n1"], ["n1", "n2", 'quoted","name']])
def test_scores_are_json(names: list[str]) -> None:
    """Written without an encoder, they read like what one writes."""
    wanted = [{"Host": name, "Score": 0} for name in names]

    assert equal_scores(names) == orjson.dumps(wanted)
