"""docs/metrics.md, made from the catalogue.

To write it anew: ``python -m tests.contract.metrics_reference``.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from extender.observe.counted import COUNTED
from extender.observe.devices import DEVICE_METRICS, OF_ROWS
from extender.observe.hami import HAMI_METRICS
from extender.observe.read import READ
from extender.observe.spec import Label, MetricSpec
from extender.settings import ObserveSettings

PAGE: Final = Path(__file__).parents[2] / "docs" / "metrics.md"

_ROWS: Final = ObserveSettings().device_rows

_HAMI_ROW: Final = (
    "| HAMi's names, where asked for | 7 for each device and 2 for each share of a "
    "pod, `--metrics-device-rows` of each; 2 for each resource of a namespace |"
)

_HEAD: Final = f"""\
# Metrics

Made from the code; `python -m tests.contract.metrics_reference` writes this page anew.

`GET /metrics`, in Prometheus' text format. `--metrics-listen` gives it an [address of
its own](http.md#listeners). All names begin with `gpu_extender_`, but for HAMi's and
for `process_*`, the usual figures of a process: CPU seconds, resident memory, open
files, start time.

`manifests/monitoring` has a Grafana dashboard (`dashboard.json`) and alerts
(`prometheus-rules.yaml`, a PrometheusRule); [runbooks.md](runbooks.md) says what to do
about each.

## How many series

Labels have the values below and no others, so that most metrics have a fixed number of
series: about 700 together. What depends on the cluster is bounded:

| what | series at most |
|---|---|
| devices | {len(OF_ROWS)} for each row, and `--metrics-device-rows` rows ({_ROWS:,}) |
| quotas | 2 for each key, and 1,000 keys |
{_HAMI_ROW}

A row is one device as long as all devices are within the bound. Where there are more,
it is all devices of one model on one node, with an empty `device_uuid`; where these are
too many, too, all of one model, with an empty `node`. `device_rows`
tells which. Sums such as `sum by (model) (gpu_extender_device_memory_bytes)` are the
same at each level.

A scrape is written in steps of a few milliseconds between which requests are answered:
figures of different steps may be of different moments. Two replicas that serve the same
cluster show the same devices; take one of them, as by `max by (node, device_uuid)`.
"""

_HAMI_HEAD: Final = """\
With `serve --hami-metrics`, for dashboards that exist. Names, labels and units are
those of HAMi 2.10. What a pod is charged is its own, not a container's, so
`container_index` is always 0. `hami_build_info` is not shown, since this is another
program, nor `hami_node_gpu_mig_instance_info`, since only the device plugin knows an
instance's UUID. They name pods: see [threat-model.md](threat-model.md).
"""


def reference() -> str:
    """Make the whole page."""
    return "\n".join(
        [
            _HEAD,
            *_section("Counted and timed", COUNTED),
            *_section("Read at each scrape", READ),
            *_section("Devices", DEVICE_METRICS),
            *_section("HAMi's names", HAMI_METRICS, _HAMI_HEAD),
        ]
    )


def _section(
    title: str, specs: Iterable[MetricSpec], head: str | None = None
) -> Iterator[str]:
    yield f"## {title}\n"
    if head is not None:
        yield head
    yield "| name | type | unit | labels | says | look when |"
    yield "|---|---|---|---|---|---|"
    for spec in specs:
        cells = [
            f"`{spec.scraped_name}`",
            spec.type.value,
            spec.unit,
            "; ".join(_label(label) for label in spec.labels),
            spec.text,
            spec.look_when,
        ]
        yield "| " + " | ".join(cells).replace("  ", " ") + " |"
    yield ""


def _label(label: Label) -> str:
    if not label.values:
        return f"`{label.name}`: {label.meaning}"
    return f"`{label.name}`: {', '.join(label.values)}"


if __name__ == "__main__":
    PAGE.write_text(reference(), encoding="utf-8")
