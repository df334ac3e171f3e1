"""Which labels are missing, by what a feed of pods tells."""

from typing import Final

from extender.core.names import NodeName, PodUID
from extender.kube.feed import LIST, LISTED, Removed, Shown
from extender.kube.labels import DueLabels
from extender.service import Binding
from tests.builders import pod

P: Final = pod("p").app("a")
BOUND: Final = P.on("n1").build()
BINDING: Final = Binding(
    "default", "p", PodUID(P.pod_uid), NodeName("n1"), {}, {"hami.io/vgpu-node": "n1"}
)


def due() -> DueLabels:
    """Look for the label of one pod."""
    labels = DueLabels()
    labels.expect(BINDING)
    return labels


def test_bound_while_all_is_listed() -> None:
    """A list shows what was there when it began; the watch after it shows the rest."""
    labels = due()
    for news in (LIST, Shown(P.build()), LISTED):
        assert labels.found(news) is None
    assert labels.found(Shown(BOUND)) == BINDING
    assert labels.found(Shown(BOUND)) is None


def test_gone_while_nobody_watched() -> None:
    """A pod that is in no list any more is not waited for."""
    labels = due()
    assert (labels.found(LIST), labels.found(LISTED)) == (None, None)
    assert labels.found(Shown(BOUND)) is None


def test_binding_that_is_sent_while_all_is_listed() -> None:
    """Its pod may have been created after the list began."""
    labels = DueLabels()
    assert labels.found(LIST) is None
    labels.expect(BINDING)
    assert labels.found(LISTED) is None
    assert labels.found(Shown(BOUND)) == BINDING


def test_binding_that_fails_while_all_is_listed() -> None:
    """Its pod was deleted meanwhile; the list goes on to its end."""
    labels = due()
    assert labels.found(LIST) is None
    labels.forget(BINDING)
    assert labels.found(LISTED) is None
    assert labels.found(Shown(BOUND)) is None


def test_deleted_before_it_was_shown_bound() -> None:
    """Another pod of its name is another pod."""
    labels = due()
    assert labels.found(Removed(P.build())) is None
    assert labels.found(Shown(BOUND)) is None


def test_listed_without_label() -> None:
    """Bound before a restart: only a pod of ours, that lives, and only from a list."""
    ours = P.on("n1").annotations({"hami.io/vgpu-node": "n1"})
    labels = DueLabels()
    assert labels.found(Shown(ours.build())) is None
    assert labels.found(LIST) is None
    assert labels.found(Shown(ours.build())) == BINDING
    for other in (
        P.on("n2").annotations({"hami.io/vgpu-node": "n1"}),
        P.annotations({"hami.io/vgpu-node": "n1"}),
        P.on("n1"),
        ours.phase("Succeeded"),
    ):
        assert labels.found(Shown(other.build())) is None


def test_what_is_no_pod() -> None:
    """It changes nothing."""
    labels = due()
    odd: object
    for odd in (None, [], {}, {"metadata": 1}, {"metadata": {"uid": 1}, "spec": {}}):
        assert labels.found(Shown(odd)) is None
    assert labels.found(Shown(BOUND)) == BINDING
