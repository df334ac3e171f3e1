"""docs/settings.md, from the docstrings of ``extender/settings.py``."""

import inspect
from collections.abc import Iterator
from dataclasses import MISSING, Field, fields
from enum import Enum
from typing import Any, Final

from extender import settings
from extender.core.device_policy import DevicePolicy
from extender.observe.logs import LogSettings
from extender.observe.pod_events import EventSettings
from extender.wire.label_selector import LabelSelector
from pages.docstrings import field_docs
from pages.markdown import code, one_line, page, table

_TOPICS: Final = (
    ("Scheduling", settings.SchedulingSettings),
    ("Admission", settings.AdmissionSettings),
    ("Bind", settings.BindSettings),
    ("Waking", settings.WakingSettings),
    ("Quota", settings.QuotaSettings),
    ("API server", settings.KubeSettings),
    ("Shadow", settings.ShadowSettings),
    ("HTTP", settings.HttpSettings),
    ("Metrics", settings.ObserveSettings),
    ("Logs", LogSettings),
    ("Events", EventSettings),
    ("TLS", settings.TlsSettings),
    ("Process", settings.Settings),
)

_OPTIONS: Final = {
    "kinds": "--device-config",
    "device_policy": "--gpu-scheduler-policy, --device-scoring-weights",
    "node_policy": "--node-scheduler-policy",
    "release": "--release",
    "burst": "--burst",
    "mode": "--mode",
    "node_selector": "--node-label-selector",
    "scheduler_names": "--scheduler-name",
    "force_overwrite_default_scheduler": "--force-overwrite-default-scheduler",
    "lease_namespace": "--lease-namespace",
    "host": "--listen",
    "port": "--listen",
    "webhook": "--webhook-listen",
    "metrics": "--metrics-listen",
    "is_plain_allowed": "--insecure-http",
    "has_plain_verbs": "--plain-verbs",
    "cert_file": "--tls-cert",
    "key_file": "--tls-key",
    "client_ca_file": "--client-ca",
    "client_names": "--client-name",
    "device_config": "--device-config",
    "device_rows": "--metrics-device-rows",
    "shows_hami_names": "--hami-metrics",
    "LogSettings.format": "--log-format",
    "LogSettings.level": "--log-level",
    "LogSettings.decisions": "--decision-log",
    "LogSettings.decision_file": "--decision-log-file",
    "EventSettings.is_written": "--events",
    "ShadowSettings.is_on": "--shadow",
    "ShadowSettings.patience_seconds": "--shadow-patience",
}
"""By which option of ``serve`` a setting is given; the others are fixed. A name that
several topics have stands with its topic."""

_INTRODUCTION: Final = """\
What a running `gpu-extender serve` goes by. A setting without an option is fixed: it \
is shown since its value explains what is seen, and why it is that. Names end with \
their unit. Options are in [commands.md](commands.md#gpu-extender-serve)."""


def settings_page() -> str:
    """Write the page: each setting with its default, its option, and why."""
    parts = [_INTRODUCTION]
    for title, topic in _TOPICS:
        doc = inspect.cleandoc(topic.__doc__ or "")
        rows = list(_rows(topic))
        parts += [
            f"## {title}",
            one_line(doc),
            table(["setting", "default", "option of `serve`", "means"], rows),
        ]
    return page("Settings", *parts)


def options_of_settings() -> set[str]:
    """Name every option that a setting is given by."""
    return {option for options in _OPTIONS.values() for option in options.split(", ")}


def _rows(topic: type[Any]) -> Iterator[tuple[str, str, str, str]]:
    docs = field_docs(topic)
    for each in fields(topic):
        if each.name not in docs:
            continue  # another topic
        of_topic = _OPTIONS.get(f"{topic.__name__}.{each.name}")
        given_by = of_topic or _OPTIONS.get(each.name, "")
        options = ", ".join(map(code, given_by.split(", ")))
        yield code(each.name), _default(each), options, one_line(docs[each.name])


def _default(field: "Field[Any]") -> str:
    value = field.default
    if value is MISSING:
        return "none: must be given" if field.default_factory is MISSING else ""
    return _shown(field.name, value)


def _shown(name: str, value: object) -> str:  # noqa: PLR0911 - one for each type
    match value:
        case Enum():
            return code(str(value.value))
        case LabelSelector():
            return "all"
        case DevicePolicy():
            return "`spread`, all weights alike"
        case tuple() | frozenset():
            words = [getattr(each, "type_word", str(each)) for each in value]
            return ", ".join(map(code, words)) or "none"
        case None | "":
            return "none"
        case bool():
            return "yes" if value else "no"
        case int() if name.endswith("_bytes") and not value % settings.MIB:
            return f"{value // settings.MIB} MiB"
        case int() | float():
            return f"{value:g}"
        case _:
            return code(str(value))
