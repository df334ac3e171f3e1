"""Leases of namespaces, as objects of the API server."""

from datetime import UTC, datetime
from typing import Final

from extender.errors import Forbidden, NotFound, WireError
from extender.kube.client import ApiClient, path_of
from extender.kube.feed import items_of
from extender.service import Turn
from extender.wire.objects import JsonObject, as_object, object_at, optional_text_at

_NAME: Final = "gpu-extender-quota-"
"""Before the namespace that a lease is for."""

_LABEL: Final = "gpu-extender/quota-lease"
_WANTED: Final = "gpu-extender/wanted-by"


class NamespaceLeases:
    """Reads and writes them; see `extender.service.Cluster`.

    Every write names the resourceVersion that it goes by. All of them are in one
    namespace, that of the extenders, whichever namespace they are for.
    """

    def __init__(
        self, client: ApiClient, kept_in: str, lease_seconds: float, seconds: float
    ) -> None:
        """Know no lease.

        Args:
            client: Of the API server.
            kept_in: Namespace of the leases.
            lease_seconds: What they are said to last.
            seconds: Longest read or write.
        """
        self._client = client
        self._kept_in = kept_in
        self._path = path_of(
            "apis", "coordination.k8s.io", "v1", "namespaces", kept_in, "leases"
        )
        self._lease_seconds = lease_seconds
        self._seconds = seconds

    async def read(self, namespace: str) -> Turn | None:
        """Read one; None where there is none yet."""
        path = self._path + path_of(_NAME + namespace)
        try:
            return _turn_of(await self._client.get(path, seconds=self._seconds))
        except NotFound:
            return None

    async def read_all(self) -> dict[str, Turn]:
        """Read all, by the namespace that they are for."""
        query = {"labelSelector": _LABEL}
        listed = await self._client.get(self._path, query=query, seconds=self._seconds)
        found = {}
        for obj in items_of(listed):
            try:
                lease = as_object(obj, "lease")
                metadata = object_at(lease, "metadata", "lease")
                name = optional_text_at(metadata, "name", "metadata")
                found[name.removeprefix(_NAME)] = _turn_of(lease)
            except WireError:
                continue  # somebody else's
        return found

    async def write(self, namespace: str, turn: Turn, seen: Turn | None) -> Turn:
        """Write one; see `extender.service.Cluster.write_turn`."""
        renewed = turn.renewed or datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        spec: JsonObject = {
            "holderIdentity": turn.holder or None,
            "leaseDurationSeconds": int(self._lease_seconds),
            "renewTime": renewed,
        }
        metadata: JsonObject = {"annotations": {_WANTED: turn.wanted_by or None}}
        if seen is None:
            metadata = {"name": _NAME + namespace, "labels": {_LABEL: "true"}}
            body: JsonObject = {
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": metadata,
                "spec": spec,
            }
            try:
                written = await self._client.post(
                    self._path, body, seconds=self._seconds
                )
            except (Forbidden, NotFound) as error:
                raise type(error)(
                    f"{error}; leases of namespaces with a quota are kept in namespace "
                    f"{self._kept_in} (--lease-namespace)"
                ) from error
        else:
            path = self._path + path_of(_NAME + namespace)
            metadata["resourceVersion"] = seen.version
            patch: JsonObject = {"metadata": metadata, "spec": spec}
            written = await self._client.patch(path, patch, seconds=self._seconds)
        version = optional_text_at(
            object_at(written, "metadata", "lease"), "resourceVersion", "metadata"
        )
        return Turn(turn.holder, turn.wanted_by, renewed, version)


def _turn_of(lease: JsonObject) -> Turn:
    metadata = object_at(lease, "metadata", "lease")
    annotations = object_at(metadata, "annotations", "metadata")
    spec = object_at(lease, "spec", "lease")
    return Turn(
        holder=optional_text_at(spec, "holderIdentity", "spec"),
        wanted_by=optional_text_at(annotations, _WANTED, "annotations"),
        renewed=optional_text_at(spec, "renewTime", "spec"),
        version=optional_text_at(metadata, "resourceVersion", "metadata"),
    )
