"""manifests/monitoring/prometheus-rules.yaml, and for each alert when it fires.

To write the manifest anew: ``python -m tests.monitoring.alerts``.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

FILE: Final = (
    Path(__file__).parents[2] / "manifests" / "monitoring" / "prometheus-rules.yaml"
)
RUNBOOKS: Final = "docs/runbooks.md"

_HEAD: Final = """\
# Alerts for Prometheus Operator. Made by `python -m tests.monitoring.alerts`.
# runbook_url is relative to this project's files: put before it where you read them.
# For a Prometheus without the operator, spec is the content of a rules file.
"""

Series = dict[str, str]
"""Values by series, in promtool's notation, one a minute."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """One alert.

    Attributes:
        name: Of the alert.
        expr: Fires where it gives something.
        pending: For how long it must.
        severity: ``critical`` wakes someone; ``warning`` waits for the day.
        summary: One line; labels in braces as Prometheus has them.
        fires: Series by which it fires at `at`.
        quiet: Such by which it does not.
        at: When it is looked at, after the start.
    """

    name: str
    expr: str
    pending: str
    severity: str
    summary: str
    fires: Series
    quiet: Series
    at: str = "30m"

    @property
    def anchor(self) -> str:
        """Of its runbook."""
        return self.name.lower()


def _rising(series: str) -> Series:
    """Rise by one after ten minutes, and stay."""
    return {series: "0x20 1x40"}


def _still(series: str) -> Series:
    return {series: "3x60"}


def _share(bad: str, good: str, *, bad_rate: int, good_rate: int) -> Series:
    return {bad: f"0+{bad_rate}x60", good: f"0+{good_rate}x60"}


def _late(name: str, labels: str, *, fast: int, slow: int) -> Series:
    """Fill a histogram: so many below 0.25 s a minute, and so many above 5 s."""
    both = fast + slow
    return {
        f'{name}_bucket{{le="0.005"{labels}}}': f"0+{fast}x60",
        f'{name}_bucket{{le="0.25"{labels}}}': f"0+{fast}x60",
        f'{name}_bucket{{le="5.0"{labels}}}': f"0+{fast}x60",
        f'{name}_bucket{{le="10.0"{labels}}}': f"0+{both}x60",
        f'{name}_bucket{{le="+Inf"{labels}}}': f"0+{both}x60",
    }


_READY: Final = "gpu_extender_ready"
_PLACED: Final = 'gpu_extender_overfull_cards_seen_total{cause="placed"}'
_RE_INFLATED: Final = 'gpu_extender_overfull_cards_seen_total{cause="re-inflated"}'
_DIFFERENCES: Final = "gpu_extender_audit_differences_total"
_LOCK_LATE: Final = 'gpu_extender_lock_wait_seconds_count{outcome="timed-out"}'
_LOCK_TAKEN: Final = 'gpu_extender_lock_wait_seconds_count{outcome="taken"}'
_DAY: Final = 86_400

ALERTS: Final = (
    Alert(
        name="GpuExtenderPlacedOverCapacity",
        expr='increase(gpu_extender_overfull_cards_seen_total{cause="placed"}[1h]) > 0',
        pending="0m",
        severity="critical",
        summary="A pod was bound to a card without room for it",
        fires=_rising(_PLACED),
        quiet=_still(_PLACED) | _rising(_RE_INFLATED),
    ),
    Alert(
        name="GpuExtenderAuditDifferences",
        expr="increase(gpu_extender_audit_differences_total[1h]) > 0",
        pending="0m",
        severity="critical",
        summary="Recorded totals were not what the pods add up to",
        fires=_rising(_DIFFERENCES),
        quiet=_still(_DIFFERENCES),
    ),
    Alert(
        name="GpuExtenderAuditStalled",
        expr="increase(gpu_extender_audits_total[20m]) == 0 "
        "and gpu_extender_ready == 1",
        pending="10m",
        severity="warning",
        summary="Totals have not been audited for half an hour",
        fires={"gpu_extender_audits_total": "7x60", _READY: "1x60"},
        quiet={"gpu_extender_audits_total": "0+1x12 13+1x48", _READY: "1x60"},
        at="50m",
    ),
    Alert(
        name="GpuExtenderDown",
        expr="absent(gpu_extender_ready)",
        pending="5m",
        severity="critical",
        summary="No extender is scraped: pods that ask for GPUs stay Pending",
        fires={"up": "0x60"},
        quiet={_READY: "1x60"},
    ),
    Alert(
        name="GpuExtenderNotReady",
        expr="gpu_extender_ready == 0",
        pending="5m",
        severity="critical",
        summary="An extender has not listed nodes, pods and quotas",
        fires={_READY: "0x60"},
        quiet={_READY: "0x3 1x57"},
    ),
    Alert(
        name="GpuExtenderWatchSilent",
        expr="gpu_extender_watch_silence_seconds > 180",
        pending="2m",
        severity="critical",
        summary="The watch of {{ $labels.collection }} tells nothing: the state is old",
        fires={'gpu_extender_watch_silence_seconds{collection="pods"}': "0+60x60"},
        quiet={'gpu_extender_watch_silence_seconds{collection="pods"}': "90x60"},
    ),
    Alert(
        name="GpuExtenderWatchLag",
        expr="histogram_quantile(0.9, sum by (instance, le) "
        "(rate(gpu_extender_watch_lag_seconds_bucket[10m]))) > 5",
        pending="10m",
        severity="warning",
        summary="Bound pods are shown seconds late",
        fires=_late("gpu_extender_watch_lag_seconds", "", fast=5, slow=5),
        quiet=_late("gpu_extender_watch_lag_seconds", "", fast=99, slow=1),
    ),
    Alert(
        name="GpuExtenderLockWaitsTimeOut",
        expr='increase(gpu_extender_lock_wait_seconds_count{outcome="timed-out"}[15m]) '
        "> 3 and ignoring (outcome) "
        'increase(gpu_extender_lock_wait_seconds_count{outcome="timed-out"}[15m]) '
        "/ ignoring (outcome) sum without (outcome) "
        "(increase(gpu_extender_lock_wait_seconds_count[15m])) > 0.1",
        pending="5m",
        severity="warning",
        summary="More than a tenth of the binds gave up waiting for a node's lock",
        fires=_share(_LOCK_LATE, _LOCK_TAKEN, bad_rate=1, good_rate=2),
        quiet=_share(_LOCK_LATE, _LOCK_TAKEN, bad_rate=1, good_rate=100),
    ),
    Alert(
        name="GpuExtenderNodeStuck",
        expr="gpu_extender_stuck_nodes > 0",
        pending="10m",
        severity="warning",
        summary="{{ $value }} nodes take no GPU pods: a pod there is not served",
        fires={"gpu_extender_stuck_nodes": "0x5 2x55"},
        quiet={"gpu_extender_stuck_nodes": "2x5 0x55"},
    ),
    Alert(
        name="GpuExtenderFaults",
        expr="sum by (instance, verb) "
        '(increase(gpu_extender_verb_requests_total{outcome="fault",'
        'verb!~"webhook|validate"}[15m])) > 0',
        pending="0m",
        severity="critical",
        summary="A fault of the extender while answering {{ $labels.verb }}",
        fires=_rising(
            'gpu_extender_verb_requests_total{verb="filter",outcome="fault"}'
        ),
        quiet=_still('gpu_extender_verb_requests_total{verb="filter",outcome="fault"}')
        | _rising('gpu_extender_verb_requests_total{verb="filter",outcome="fits"}'),
        at="22m",
    ),
    Alert(
        name="GpuExtenderRequestsUnreadable",
        expr="sum by (instance, verb) "
        "(rate(gpu_extender_verb_requests_total"
        '{outcome=~"unreadable|cut-off",verb!~"webhook|validate"}[15m])) '
        "/ sum by (instance, verb) (rate(gpu_extender_verb_requests_total[15m])) > 0.1",
        pending="10m",
        severity="warning",
        summary="A tenth of the {{ $labels.verb }} requests cannot be used",
        fires=_share(
            'gpu_extender_verb_requests_total{verb="filter",outcome="unreadable"}',
            'gpu_extender_verb_requests_total{verb="filter",outcome="fits"}',
            bad_rate=1,
            good_rate=1,
        ),
        quiet=_share(
            'gpu_extender_verb_requests_total{verb="filter",outcome="unreadable"}',
            'gpu_extender_verb_requests_total{verb="filter",outcome="fits"}',
            bad_rate=1,
            good_rate=99,
        ),
    ),
    Alert(
        name="GpuExtenderWebhookFailures",
        expr="sum by (instance, verb) "
        '(increase(gpu_extender_verb_requests_total{verb=~"webhook|validate",'
        'outcome=~"fault|unreadable|cut-off"}[15m])) > 0',
        pending="5m",
        severity="warning",
        summary="Reviews of new pods were not answered ({{ $labels.verb }})",
        fires=_rising(
            'gpu_extender_verb_requests_total{verb="webhook",outcome="fault"}'
        ),
        quiet=_rising(
            'gpu_extender_verb_requests_total{verb="webhook",outcome="answered"}'
        ),
    ),
    Alert(
        name="GpuExtenderBindsFail",
        expr="sum by (instance) "
        '(rate(gpu_extender_bind_refusals_total{reason=~"api-error|fault"}[15m])) '
        "/ sum by (instance) (rate(gpu_extender_binds_total[15m])) > 0.1",
        pending="10m",
        severity="critical",
        summary="More than a tenth of the binds fail at the API server",
        fires=_share(
            'gpu_extender_bind_refusals_total{reason="api-error"}',
            'gpu_extender_binds_total{outcome="bound"}',
            bad_rate=1,
            good_rate=2,
        ),
        quiet=_share(
            'gpu_extender_bind_refusals_total{reason="no-longer-fits"}',
            'gpu_extender_binds_total{outcome="bound"}',
            bad_rate=5,
            good_rate=2,
        )
        | {'gpu_extender_bind_refusals_total{reason="api-error"}': "0x60"},
    ),
    Alert(
        name="GpuExtenderApiErrors",
        expr="sum by (instance) (rate(gpu_extender_api_requests_total"
        '{outcome=~"forbidden|rejected|unreachable|unanswered"}[15m])) '
        "/ sum by (instance) (rate(gpu_extender_api_requests_total[15m])) > 0.1",
        pending="10m",
        severity="warning",
        summary="More than a tenth of the requests to the API server fail",
        fires=_share(
            'gpu_extender_api_requests_total{method="GET",outcome="unanswered"}',
            'gpu_extender_api_requests_total{method="GET",outcome="ok"}',
            bad_rate=1,
            good_rate=2,
        ),
        quiet=_share(
            'gpu_extender_api_requests_total{method="PATCH",outcome="conflict"}',
            'gpu_extender_api_requests_total{method="GET",outcome="ok"}',
            bad_rate=2,
            good_rate=2,
        )
        | {'gpu_extender_api_requests_total{method="GET",outcome="forbidden"}': "0x60"},
    ),
    Alert(
        name="GpuExtenderQuotaUnreadable",
        expr="gpu_extender_quotas_unreadable > 0",
        pending="10m",
        severity="warning",
        summary="{{ $value }} ResourceQuotas cannot be read",
        fires={"gpu_extender_quotas_unreadable": "1x60"},
        quiet={"gpu_extender_quotas_unreadable": "0x60"},
    ),
    Alert(
        name="GpuExtenderDeviceConfigRefused",
        expr="increase(gpu_extender_device_config_reads_total"
        '{outcome="refused"}[1h]) > 0',
        pending="0m",
        severity="warning",
        summary="A change of the device configuration was not taken",
        fires=_rising('gpu_extender_device_config_reads_total{outcome="refused"}'),
        quiet=_rising('gpu_extender_device_config_reads_total{outcome="taken"}')
        | _still('gpu_extender_device_config_reads_total{outcome="refused"}'),
    ),
    Alert(
        name="GpuExtenderLoopLag",
        expr="histogram_quantile(0.9, sum by (instance, le) "
        "(rate(gpu_extender_event_loop_lag_seconds_bucket[10m]))) > 0.25",
        pending="10m",
        severity="warning",
        summary="The extender is too busy to answer in time",
        fires=_late("gpu_extender_event_loop_lag_seconds", "", fast=120, slow=120),
        quiet=_late("gpu_extender_event_loop_lag_seconds", "", fast=239, slow=1),
    ),
    Alert(
        name="GpuExtenderCertificateEnds",
        expr="gpu_extender_certificate_expiry_timestamp_seconds - time() < 7 * 86400",
        pending="10m",
        severity="warning",
        summary="Certificate {{ $labels.certificate }} ends within a week",
        fires={
            "gpu_extender_certificate_expiry_timestamp_seconds"
            '{certificate="served"}': f"{6 * _DAY}x60"
        },
        quiet={
            "gpu_extender_certificate_expiry_timestamp_seconds"
            '{certificate="served"}': f"{8 * _DAY}x60"
        },
    ),
    Alert(
        name="GpuExtenderCertificateEndsSoon",
        expr="gpu_extender_certificate_expiry_timestamp_seconds - time() < 86400",
        pending="10m",
        severity="critical",
        summary="Certificate {{ $labels.certificate }} ends within a day",
        fires={
            "gpu_extender_certificate_expiry_timestamp_seconds"
            '{certificate="client-ca"}': f"{_DAY}x60"
        },
        quiet={
            "gpu_extender_certificate_expiry_timestamp_seconds"
            '{certificate="client-ca"}': f"{6 * _DAY}x60"
        },
    ),
)


def rules() -> dict[str, Any]:
    """Give the rules as Prometheus reads them."""
    return {
        "groups": [
            {
                "name": "gpu-extender",
                "rules": [
                    {
                        "alert": alert.name,
                        "expr": alert.expr,
                        "for": alert.pending,
                        "labels": {"severity": alert.severity},
                        "annotations": {
                            "summary": alert.summary,
                            "runbook_url": f"{RUNBOOKS}#{alert.anchor}",
                        },
                    }
                    for alert in ALERTS
                ],
            }
        ]
    }


def manifest() -> str:
    """Make the manifest."""
    body = {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {
            "name": "gpu-extender",
            "namespace": "gpu-extender",
            "labels": {"app.kubernetes.io/name": "gpu-extender"},
        },
        "spec": rules(),
    }
    return _HEAD + yaml.safe_dump(body, sort_keys=False, width=100)


if __name__ == "__main__":
    FILE.write_text(manifest(), encoding="utf-8")
