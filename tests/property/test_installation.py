"""Documents of an installation, spoiled in any way: named or checked, no crash."""

import copy
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any, Final

from hypothesis import given
from hypothesis import strategies as st

from extender.core.kind_set import Kinds
from extender.errors import WireError
from extender.verbs.diagnosis import Diagnosis
from extender.verbs.installation.documents import (
    Demand,
    Installation,
    Served,
    Webhook,
)
from extender.verbs.installation.examination import check_installation
from extender.verbs.installation.guards import NODES, PODS, SCHEDULERS
from extender.wire.installation.certificates import read_bundle, read_certificate
from extender.wire.installation.go_duration import duration_seconds
from extender.wire.installation.guards import read_guards
from extender.wire.installation.scheduler_configuration import (
    read_scheduler_configuration,
)
from extender.wire.installation.versions import image_version, read_version
from extender.wire.installation.webhooks import (
    read_service,
    read_webhooks,
    ready_endpoints,
)
from tests.installed_documents import (
    BASE,
    MADE,
    NOW,
    guards_of,
    manifests,
    scheduler_document,
    unchanged,
    with_bundle,
)
from tests.shipped import SHIPPED

TEXTS = st.sampled_from(
    [
        "",
        "30s",
        "-1s",
        "1e9h",
        "https://127.0.0.1:8443",
        "http://[::1",
        "http://a:99999",
        "//",
        "v1.36.3",
        "Ignore",
        "Deny",
        "nvidia.com/gpu",
        "127.0.0.1",
        "é\0",
    ]
)
JSON = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**70), 2**70),
        st.floats(allow_nan=False),
        TEXTS,
        st.text(max_size=12),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.text(max_size=6), inner, max_size=3),
    ),
    max_leaves=6,
)

_POLICIES, _BINDINGS, _LISTS = guards_of(unchanged)
SLICE: Final = {
    "endpoints": [{"addresses": ["10.0.0.1"], "conditions": {"ready": True}}]
}
DOCUMENTS: Final[dict[str, Any]] = {
    "scheduler": scheduler_document(),
    "webhooks": [
        with_bundle(each, MADE.authority) for each in manifests(BASE / "webhook.yaml")
    ],
    "service": manifests(BASE / "service.yaml")[0],
    "slices": [SLICE],
    "policies": _POLICIES,
    "bindings": _BINDINGS,
    "lists": _LISTS,
}
DEMAND: Final = Demand(
    Kinds(SHIPPED.values()),
    frozenset(each.type_word for each in SHIPPED.values()),
    node_count=200,
)


def paths(part: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:  # noqa: ANN401
    """List every place within a document."""
    yield path
    if isinstance(part, dict):
        for key, inner in part.items():
            yield from paths(inner, (*path, key))
    elif isinstance(part, list):
        for index, inner in enumerate(part):
            yield from paths(inner, (*path, index))


PLACES: Final = [path for path in paths(DOCUMENTS) if len(path) > 1]


def spoiled(changes: list[tuple[tuple[Any, ...], Any]]) -> dict[str, Any]:
    """Put values into places, as far as these are still there."""
    documents = copy.deepcopy(DOCUMENTS)
    for (*way, last), value in changes:
        parent: Any = documents
        with suppress(KeyError, IndexError, TypeError):
            for step in way:
                parent = parent[step]
            parent[last] = value
    return documents


def checked(documents: dict[str, Any]) -> list[Diagnosis]:
    """Read each document by itself, and check all that could be read."""
    read: dict[str, Any] = {}
    readers: dict[str, Callable[[], Any]] = {
        "scheduler": partial(
            read_scheduler_configuration, documents["scheduler"], "scheduler"
        ),
        "webhooks": lambda: webhooks(documents["webhooks"]),
        "services": lambda: (
            read_service(documents["service"], ready_endpoints(documents["slices"])),
        ),
        "guards": lambda: read_guards(
            documents["policies"],
            documents["bindings"],
            documents["lists"],
            (PODS, NODES, SCHEDULERS),
        ),
    }
    for name, reader in readers.items():
        with suppress(WireError):
            read[name] = reader()
    served = Served()
    return list(
        check_installation(Installation(NOW.timestamp(), DEMAND, served, **read))
    )


def webhooks(documents: list[Any]) -> tuple[Webhook, ...]:
    """Read all configurations."""
    return tuple(
        each for document in documents for each in read_webhooks(document, MADE.cert)
    )


@given(st.lists(st.tuples(st.sampled_from(PLACES), JSON), min_size=1, max_size=4))
def test_spoiled_documents(changes: list[tuple[tuple[Any, ...], Any]]) -> None:
    """Each is read, or refused with a word; what is read is checked to the end."""
    for each in checked(spoiled(changes)):
        assert each.summary
        assert each.about


@given(JSON)
def test_anything_at_all(value: object) -> None:
    """No reader takes what is no document of its kind for one, or breaks on it."""
    for reader in (
        lambda: read_scheduler_configuration(value, "scheduler"),
        lambda: list(read_webhooks(value, None)),
        lambda: read_service(value, None),
        lambda: read_guards([value], [value], value, (PODS,)),
        lambda: read_version(value, "gitVersion"),
        lambda: duration_seconds(value, "httpTimeout"),
    ):
        with suppress(WireError):
            reader()
    if isinstance(value, str):
        image_version(value)


@given(
    st.binary(max_size=300),
    st.integers(0, len(MADE.authority)),
    st.integers(0, len(MADE.authority)),
)
def test_spoiled_bundles(noise: bytes, start: int, end: int) -> None:
    """A bundle is never an error: it has authorities, or a problem."""
    for pem in (
        noise,
        MADE.authority[:start] + noise + MADE.authority[end:],
        MADE.authority + noise,
    ):
        read = read_bundle(pem, MADE.cert)
        assert bool(read.authorities) is not bool(read.problem)
        with suppress(WireError):
            read_certificate(pem, "file", noise)
