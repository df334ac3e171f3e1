"""The catalogue, the page and what is scraped agree; names keep to the conventions."""

import re
from pathlib import Path
from typing import Final

import pytest
from prometheus_client.parser import text_string_to_metric_families

from extender.observe.catalogue import WITH_HAMI
from extender.observe.read import SHADOW_DECISIONS
from extender.observe.spec import MetricSpec, MetricType
from tests.contract.metrics_reference import PAGE, reference
from tests.kube.running import running
from tests.scraped import full_cluster, full_exposition

BASE_UNITS: Final = {"seconds": "_seconds", "bytes": "_bytes", "ratio": "_ratio"}
OTHERS_UNITS: Final = re.compile(
    "_(milliseconds|ms|minutes|mib|kilobytes|megabytes|percent)(_|$)"
)
OURS: Final = [spec for spec in WITH_HAMI if spec.prefix == "gpu_extender_"]


def test_page_is_that_of_the_code() -> None:
    """Written anew by `python -m tests.contract.metrics_reference`."""
    assert PAGE.read_text(encoding="utf-8") == reference()


async def test_all_that_is_scraped_is_in_the_catalogue_and_back() -> None:
    """With type, help and labels; histograms have the buckets that are told."""
    by_name = {spec.scraped_name: spec for spec in WITH_HAMI}
    assert len(by_name) == len(WITH_HAMI)
    scraped = set()
    for family in text_string_to_metric_families(await full_exposition()):
        if family.name.startswith("process_"):
            continue
        name = family.name + ("_total" if family.type == "counter" else "")
        spec = by_name[name]
        scraped.add(name)
        assert (family.type, family.documentation) == (spec.type, spec.text)
        for sample in family.samples:
            assert {*sample.labels} - {"le"} == {*spec.label_names}, name
            for label in spec.labels:
                value = sample.labels[label.name]
                assert not label.values or value in label.values, (name, value)
    only_with_tls = "gpu_extender_certificate_expiry_timestamp_seconds"
    only_in_shadow_mode = "gpu_extender_shadow_decisions_total"
    assert by_name.keys() - scraped <= {only_with_tls, only_in_shadow_mode}


async def test_sets_of_labels_that_are_known_are_there_from_the_start() -> None:
    """As 0; else their first increase could not be seen."""
    async with running(full_cluster()) as run:
        text = run.extender.metrics.exposition().decode()
    samples = {
        (sample.name, frozenset(sample.labels.items()))
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    for spec in OURS:
        if spec.type is MetricType.COUNTER and spec is not SHADOW_DECISIONS:
            for values in spec.known_label_sets():
                labels = zip(spec.label_names, values, strict=True)
                assert (spec.scraped_name, frozenset(labels)) in samples


@pytest.mark.parametrize("spec", OURS, ids=lambda spec: spec.name)
def test_names_keep_to_the_conventions(spec: MetricSpec) -> None:
    """Base units at the end, ``_total`` on counters alone, and a help text."""
    name = spec.scraped_name
    assert re.fullmatch("[a-z][a-z0-9_]*[a-z0-9]", name)
    assert name.endswith("_total") == (spec.type is MetricType.COUNTER)
    assert not OTHERS_UNITS.search(name)
    assert not name.endswith(("_count", "_sum", "_bucket"))
    assert spec.text.endswith(".")
    if spec.unit in BASE_UNITS:
        assert name.endswith(BASE_UNITS[spec.unit])
    for label in spec.labels:
        assert re.fullmatch("[a-z][a-z0-9_]*", label.name)
        assert label.name not in {"le", "quantile", "job", "instance"}
        assert label.values or label.meaning
    assert bool(spec.buckets) == (spec.type is MetricType.HISTOGRAM)
    assert list(spec.buckets) == sorted(set(spec.buckets))


def test_no_metric_of_ours_names_pods() -> None:
    """Only HAMi's names do, and these are asked for."""
    names = {label.name for spec in OURS for label in spec.labels}
    assert names.isdisjoint({"pod", "pod_name", "uid", "container"})


def test_no_other_place_describes_metrics() -> None:
    """architecture.md says how they are made, and leaves the rest to their page."""
    text = (Path(PAGE).parent / "architecture.md").read_text(encoding="utf-8")
    section = text.partition("## Metrics\n")[2].partition("\n## ")[0]
    assert "](metrics.md)" in section
    assert not re.search("`[a-z_]+_(total|seconds)`", section)
