"""Labels that a Binding carried and the API server left out."""

from contextlib import suppress
from typing import Final

from extender.core.names import NodeName, PodUID
from extender.errors import WireError
from extender.kube.feed import ListBegins, ListEnds, News, Removed
from extender.service import Binding
from extender.wire.allocation import NODE_ANNOTATION, allocation_labels
from extender.wire.objects import (
    JsonObject,
    as_object,
    object_at,
    optional_text_at,
)

_FINISHED: Final = ("Succeeded", "Failed")


class DueLabels:
    """Finds bound pods without the label that they were bound with.

    kube-apiserver merges a Binding's labels since Kubernetes 1.35; before, it drops
    them. Which it did is known once the watch shows the pod bound. A list shows pods,
    too, that were bound before a restart, or by a replica that is gone.
    """

    def __init__(self) -> None:
        self._due: dict[str, Binding] = {}
        self._unlisted: set[str] | None = None

    def expect(self, binding: Binding) -> None:
        """Look for a Binding's labels, which is about to be sent."""
        if binding.labels:
            self._due[binding.uid] = binding

    def forget(self, binding: Binding) -> None:
        """Look no more for them: it was not carried out."""
        self._take(binding.uid)

    def found(self, news: News) -> Binding | None:
        """Take in what a feed of pods tells.

        Returns:
            The Binding whose labels are to be written, if there is one.
        """
        if isinstance(news, ListBegins):
            self._unlisted = set(self._due)
        elif isinstance(news, ListEnds):
            for uid in self._unlisted or ():
                self._due.pop(uid, None)  # its pod is gone
            self._unlisted = None
        elif self._due or self._unlisted is not None:
            with suppress(WireError):
                pod = as_object(news.obj, "pod")
                if isinstance(news, Removed):
                    metadata = object_at(pod, "metadata", "pod")
                    self._take(optional_text_at(metadata, "uid", "metadata"))
                else:
                    return self._of_shown(pod)
        return None

    def _of_shown(self, pod: JsonObject) -> Binding | None:
        metadata = object_at(pod, "metadata", "pod")
        uid = optional_text_at(metadata, "uid", "metadata")
        if self._unlisted is not None:
            self._unlisted.discard(uid)
        node_name = optional_text_at(object_at(pod, "spec", "pod"), "nodeName", "spec")
        if not node_name:
            return None
        binding = self._take(uid)
        if binding is None and self._unlisted is not None:
            binding = _bound_before(pod, metadata, uid, node_name)
        if binding is None or binding.node_name != node_name:
            return None  # nothing of ours, or somebody else's Binding came first
        labels = object_at(metadata, "labels", "metadata")
        return None if binding.labels.items() <= labels.items() else binding

    def _take(self, uid: str) -> Binding | None:
        if self._unlisted is not None:
            self._unlisted.discard(uid)
        return self._due.pop(uid, None)


def _bound_before(
    pod: JsonObject, metadata: JsonObject, uid: str, node_name: str
) -> Binding | None:
    """Tell by which Binding a pod was bound, if it was one with labels."""
    annotations = object_at(metadata, "annotations", "metadata")
    phase = object_at(pod, "status", "pod").get("phase")
    if annotations.get(NODE_ANNOTATION) != node_name or phase in _FINISHED:
        return None
    return Binding(
        optional_text_at(metadata, "namespace", "metadata") or "default",
        optional_text_at(metadata, "name", "metadata"),
        PodUID(uid),
        NodeName(node_name),
        {},
        allocation_labels(NodeName(node_name)),
    )
