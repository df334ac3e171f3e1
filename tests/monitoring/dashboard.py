"""manifests/monitoring/dashboard.json, for Grafana 10 and newer.

To write it anew: ``python -m tests.monitoring.dashboard``.
"""

import json
from pathlib import Path
from typing import Any, Final

FILE: Final = Path(__file__).parents[2] / "manifests" / "monitoring" / "dashboard.json"

Json = dict[str, Any]
Panel = tuple[str, str, list[tuple[str, str]]]
"""Title, Grafana's unit, and pairs of expression and legend."""

_PREFIX: Final = "gpu_extender_"
_RATE: Final = "[$__rate_interval]"
_ONE: Final = f"max by (kind, model, node, device_uuid) ({_PREFIX}%s)"
"""Two replicas show the same devices."""


def _quantiles(histogram: str, by: str, where: str = "") -> list[tuple[str, str]]:
    rate = f"rate({_PREFIX}{histogram}_bucket{where}{_RATE})"
    groups, legend = (f"{by}, le", f" {{{{{by}}}}}") if by else ("le", "")
    return [
        (
            f"histogram_quantile({q}, sum by ({groups}) ({rate}))",
            f"p{q * 100:g}{legend}",
        )
        for q in (0.5, 0.99)
    ]


def _rate(counter: str, by: str, where: str = "") -> tuple[str, str]:
    expression = f"sum by ({by}) (rate({_PREFIX}{counter}{where}{_RATE}))"
    return expression, " ".join(f"{{{{{each}}}}}" for each in by.split(", "))


def _charged(charged: str, capacity: str) -> tuple[str, str]:
    parts = [f"sum by (model) ({_ONE % each})" for each in (charged, capacity)]
    return " / ".join(parts), "{{model}}"


ROWS: Final[tuple[tuple[str, tuple[Panel, ...]], ...]] = (
    (
        "Health",
        (
            ("Ready", "short", [(f"{_PREFIX}ready", "{{instance}}")]),
            (
                "Placed over capacity (must stay 0)",
                "short",
                [
                    (
                        f'sum({_PREFIX}overfull_cards_seen_total{{cause="placed"}})',
                        "placed",
                    )
                ],
            ),
            (
                "Audit differences (must stay 0)",
                "short",
                [(f"sum({_PREFIX}audit_differences_total)", "differences")],
            ),
            (
                "Certificates end in",
                "s",
                [
                    (
                        (
                            "min by (certificate) "
                            f"({_PREFIX}certificate_expiry_timestamp_seconds) - time()"
                        ),
                        "{{certificate}}",
                    )
                ],
            ),
            ("Event loop lag", "s", _quantiles("event_loop_lag_seconds", "")),
            (
                "Version",
                "short",
                [
                    (
                        f"count by (version, python_version) ({_PREFIX}build_info)",
                        "{{version}}, Python {{python_version}}",
                    )
                ],
            ),
        ),
    ),
    (
        "Verbs",
        (
            (
                "Requests",
                "reqps",
                [_rate("verb_requests_total", "verb, outcome")],
            ),
            ("Duration", "s", _quantiles("verb_duration_seconds", "verb")),
            (
                "filter by stage",
                "s",
                _quantiles("stage_duration_seconds", "stage", '{verb="filter"}'),
            ),
            (
                "bind by stage",
                "s",
                _quantiles("stage_duration_seconds", "stage", '{verb="bind"}'),
            ),
            ("Nodes judged", "short", [_rate("fit_nodes_total", "answer")]),
            (
                "Nodes refused by reason",
                "short",
                [_rate("fit_refusals_total", "reason")],
            ),
        ),
    ),
    (
        "Binds",
        (
            ("Binds", "ops", [_rate("binds_total", "outcome")]),
            ("Refused by reason", "ops", [_rate("bind_refusals_total", "reason")]),
            (
                "Wait for a node's lock",
                "s",
                _quantiles("lock_wait_seconds", "outcome"),
            ),
            (
                "Wait for a quota's lease",
                "s",
                _quantiles("quota_turn_wait_seconds", "outcome"),
            ),
            (
                "Locked and stuck nodes, reservations",
                "short",
                [
                    (f"max({_PREFIX}locked_nodes)", "locked"),
                    (f"max({_PREFIX}stuck_nodes)", "stuck"),
                    (f"sum({_PREFIX}reservations)", "reservations"),
                ],
            ),
            (
                "Woken pods",
                "ops",
                [(f"sum(rate({_PREFIX}woken_pods_total{_RATE}))", "woken")],
            ),
        ),
    ),
    (
        "Devices",
        (
            (
                "Memory charged",
                "percentunit",
                [_charged("device_memory_charged_bytes", "device_memory_bytes")],
            ),
            (
                "Compute charged",
                "percentunit",
                [_charged("device_compute_charged", "devices")],
            ),
            (
                "Slots charged",
                "percentunit",
                [_charged("device_slots_charged", "device_slots")],
            ),
            (
                "Devices",
                "short",
                [
                    (f"sum by (model) ({_ONE % 'devices'})", "{{model}}"),
                    (f"sum by (model) ({_ONE % 'devices_usable'})", "{{model}} usable"),
                ],
            ),
            (
                "Cards over capacity by cause",
                "short",
                [(f"max by (cause) ({_PREFIX}overfull_cards)", "{{cause}}")],
            ),
            (
                "Phases released and counted again",
                "ops",
                [
                    (
                        f"max(rate({_PREFIX}phases_released_total{_RATE}))",
                        "released",
                    ),
                    (
                        f"max(rate({_PREFIX}phases_re_inflated_total{_RATE}))",
                        "re-inflated",
                    ),
                ],
            ),
        ),
    ),
    (
        "Quotas and pods",
        (
            (
                "Quotas: used of limit",
                "percentunit",
                [
                    (
                        " / ".join(
                            f"max by (namespace, resource_quota, key) ({_PREFIX}{each})"
                            for each in ("quota_used", "quota_limit")
                        ),
                        "{{namespace}} {{key}}",
                    )
                ],
            ),
            (
                "Pods",
                "short",
                [(f"max by (footing) ({_PREFIX}pods_by_footing)", "{{footing}}")],
            ),
            ("New pods", "ops", [_rate("admissions_total", "outcome")]),
        ),
    ),
    (
        "API server",
        (
            ("Requests", "reqps", [_rate("api_requests_total", "method, outcome")]),
            ("Watch lag", "s", _quantiles("watch_lag_seconds", "")),
            (
                "Watch silence",
                "s",
                [
                    (
                        f"max by (collection) ({_PREFIX}watch_silence_seconds)",
                        "{{collection}}",
                    )
                ],
            ),
            ("Events", "ops", [_rate("watch_events_total", "collection")]),
            (
                "Memory of the process",
                "bytes",
                [
                    (
                        (
                            "process_resident_memory_bytes and on (instance) "
                            f"{_PREFIX}ready"
                        ),
                        "{{instance}}",
                    )
                ],
            ),
        ),
    ),
)

_SOURCE: Final = {"type": "prometheus", "uid": "${datasource}"}
_WIDTH: Final = 8
_HEIGHT: Final = 7
_ACROSS: Final = 3


def dashboard() -> Json:
    """Make the dashboard."""
    panels: list[Json] = []
    top = 0
    for title, charts in ROWS:
        panels.append(
            {
                "id": len(panels) + 1,
                "type": "row",
                "title": title,
                "collapsed": False,
                "gridPos": {"h": 1, "w": 24, "x": 0, "y": top},
                "panels": [],
            }
        )
        top += 1
        for number, panel in enumerate(charts):
            row, column = divmod(number, _ACROSS)
            panels.append(
                _panel(panel, len(panels) + 1, column * _WIDTH, top + row * _HEIGHT)
            )
        top += -(-len(charts) // _ACROSS) * _HEIGHT
    return {
        "title": "GPU extender",
        "uid": "gpu-extender",
        "tags": ["gpu", "scheduling"],
        "schemaVersion": 39,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "templating": {
            "list": [
                {
                    "name": "datasource",
                    "label": "Prometheus",
                    "type": "datasource",
                    "query": "prometheus",
                }
            ]
        },
        "panels": panels,
    }


def _panel(panel: Panel, number: int, left: int, top: int) -> Json:
    title, unit, targets = panel
    return {
        "id": number,
        "type": "timeseries",
        "title": title,
        "datasource": _SOURCE,
        "gridPos": {"h": _HEIGHT, "w": _WIDTH, "x": left, "y": top},
        "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
        "options": {"legend": {"displayMode": "list", "placement": "bottom"}},
        "targets": [
            {
                "refId": chr(ord("A") + index),
                "datasource": _SOURCE,
                "expr": expression,
                "legendFormat": legend,
            }
            for index, (expression, legend) in enumerate(targets)
        ],
    }


def text() -> str:
    """Make the file."""
    return json.dumps(dashboard(), indent=2) + "\n"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
