"""The kinds of device that are scheduled, looked up by what names them."""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from extender.core.kinds import Kind
from extender.core.names import KindWord


class Kinds:
    """Kinds that have nothing in common: no word, no resource and no annotation.

    Attributes:
        by_word: Each by its `Kind.type_word`, in the order given.
        by_resource: Each by every resource by which a container asks for it.
        by_allocation: Each by the pod annotation that has its rows.
        of_allocations: Every pod annotation that tells what a pod holds or is to get.
    """

    def __init__(self, kinds: Iterable[Kind]) -> None:
        listed = tuple(kinds)
        self.by_word: Mapping[KindWord, Kind] = MappingProxyType(
            {kind.type_word: kind for kind in listed}
        )
        self.by_resource: Mapping[str, Kind] = MappingProxyType(
            {name: kind for kind in listed for name in kind.resources}
        )
        self.by_allocation: Mapping[str, Kind] = MappingProxyType(
            {kind.allocated_annotation: kind for kind in listed}
        )
        self.of_allocations = frozenset(
            name
            for kind in listed
            for name in (
                kind.allocated_annotation,
                kind.to_allocate_annotation,
                kind.mig_annotation,
                kind.slots_annotation,
            )
            if name is not None
        )

    def __iter__(self) -> Iterator[Kind]:
        return iter(self.by_word.values())

    def __getitem__(self, word: KindWord) -> Kind:
        return self.by_word[word]

    def concerned(
        self, resources: Iterable[str], annotations: Iterable[str]
    ) -> list[Kind]:
        """List, in the order of all, the kinds that a pod has to do with.

        Args:
            resources: That its containers name.
            annotations: Its annotations' names.
        """
        words = {
            self.by_resource[name].type_word
            for name in resources
            if name in self.by_resource
        }
        words.update(
            [
                self.by_allocation[name].type_word
                for name in annotations
                if name in self.by_allocation
            ]
        )
        if len(words) <= 1:
            return [self.by_word[word] for word in words]
        return [kind for kind in self if kind.type_word in words]
