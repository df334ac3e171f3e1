"""Dashboard and alerts name what is scraped, and say what to do."""

import re
from itertools import product
from pathlib import Path
from typing import Final

import pytest
import yaml

from extender.observe.catalogue import CATALOGUE
from extender.observe.spec import MetricType
from tests.contract.test_docs import HEADING, slug
from tests.monitoring import alerts, dashboard
from tests.monitoring.alerts import ALERTS, Alert

ROOT: Final = Path(__file__).parents[2]
BY_NAME: Final = {
    f"{spec.scraped_name}{suffix}": spec
    for spec in CATALOGUE
    for suffix in (
        ("_bucket", "_sum", "_count") if spec.type is MetricType.HISTOGRAM else ("",)
    )
}
NAME: Final = re.compile(r"(gpu_extender_\w+)(?:\{([^}]*)\})?")
MATCHER: Final = re.compile(r'(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"')
GROUPING: Final = re.compile(r"(?:by|on|ignoring|without)\s*\(([\w, ]*)\)")
GIVEN_BY_PROMETHEUS: Final = {"instance", "le"}

EXPRESSIONS: Final = {
    **{alert.name: alert.expr for alert in ALERTS},
    **{
        f"{title}: {panel}: {number}": expression
        for title, panels in dashboard.ROWS
        for panel, _, targets in panels
        for number, (expression, _) in enumerate(targets)
    },
}


def problems_of(expression: str) -> list[str]:
    """Tell which names, labels and values of a query are in no scrape."""
    found = []
    labels = set(GIVEN_BY_PROMETHEUS)
    for name, matchers in NAME.findall(expression):
        spec = BY_NAME.get(name)
        if spec is None:
            found.append(f"no metric {name}")
            continue
        labels |= {*spec.label_names}
        values_of = {label.name: label.values for label in spec.labels}
        for label, operator, value in MATCHER.findall(matchers):
            if label not in values_of:
                found.append(f"{name} has no label {label}")
                continue
            values = value.split("|") if "~" in operator else [value]
            known = values_of[label]
            found += [
                f"{name}: {label} is never {each}"
                for each in values
                if known and each not in known
            ]
    for group in GROUPING.findall(expression):
        unknown = {each.strip() for each in group.split(",")} - labels
        found += [f"no metric has label {each}" for each in sorted(unknown)]
    return found


@pytest.mark.parametrize("expression", EXPRESSIONS.values(), ids=EXPRESSIONS)
def test_queries_name_what_is_scraped(expression: str) -> None:
    """Metrics, labels and values."""
    assert problems_of(expression) == []


WRONG: Final = {
    "gpu_extender_node > 0": "no metric gpu_extender_node",
    'gpu_extender_ready{verb="x"}': "gpu_extender_ready has no label verb",
    'gpu_extender_binds_total{outcome=~"bound|lost"}': (
        "gpu_extender_binds_total: outcome is never lost"
    ),
    "sum by (verb) (gpu_extender_ready)": "no metric has label verb",
    "gpu_extender_watch_lag_seconds": "no metric gpu_extender_watch_lag_seconds",
}


@pytest.mark.parametrize(("expression", "problem"), WRONG.items(), ids=WRONG)
def test_wrong_queries_are_found(expression: str, problem: str) -> None:
    """The test above can fail."""
    assert problems_of(expression) == [problem]


def test_files_are_those_of_the_code() -> None:
    """Written anew by `python -m tests.monitoring.alerts`, and `dashboard`."""
    assert alerts.FILE.read_text(encoding="utf-8") == alerts.manifest()
    assert dashboard.FILE.read_text(encoding="utf-8") == dashboard.text()
    assert yaml.safe_load(alerts.manifest())["spec"] == alerts.rules()


def test_every_alert_has_a_runbook() -> None:
    """And every runbook an alert; what each says has a meaning and steps."""
    text = (ROOT / alerts.RUNBOOKS).read_text(encoding="utf-8")
    parts = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    runbooks = {part.partition("\n")[0]: part for part in parts}
    assert [*runbooks] == [alert.name for alert in ALERTS]
    anchors = {slug(heading) for heading in HEADING.findall(text)}
    assert {alert.anchor for alert in ALERTS} <= anchors
    for alert in ALERTS:
        part = runbooks[alert.name]
        for word in ("*Means.*", "*Look.*", "*Do.*"):
            assert word in part, (alert.name, word)


def test_alerts_are_named_once_and_rated() -> None:
    """By two severities: what wakes someone, and what waits for the day."""
    assert len({alert.name for alert in ALERTS}) == len(ALERTS)
    assert {alert.severity for alert in ALERTS} == {"critical", "warning"}
    assert all(not alert.summary.endswith(".") for alert in ALERTS)


def test_panels_do_not_overlap() -> None:
    """Each cell of the grid belongs to one."""
    taken: set[tuple[int, int]] = set()
    panels = dashboard.dashboard()["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    for panel in panels:
        at = panel["gridPos"]
        cells = {
            (at["x"] + x, at["y"] + y)
            for x, y in product(range(at["w"]), range(at["h"]))
        }
        assert not cells & taken
        assert at["x"] + at["w"] <= 24
        taken |= cells


def unit_test(alert: Alert, *, fires: bool) -> dict[str, object]:
    """Give promtool's test that an alert fires, or does not."""
    series = alert.fires if fires else alert.quiet
    query = f'count(ALERTS{{alertname="{alert.name}",alertstate="firing"}})'
    return {
        "name": f"{alert.name} {'fires' if fires else 'is quiet'}",
        "interval": "1m",
        "input_series": [
            {"series": name, "values": values} for name, values in series.items()
        ],
        "promql_expr_test": [
            {
                "expr": query,
                "eval_time": alert.at,
                "exp_samples": [{"labels": "{}", "value": 1}] if fires else [],
            }
        ],
    }
