"""On which of the nodes that refused a pod another choice of cards might fit.

All tests are vector operations over all of these nodes, and each is certain where it
says no. Most nodes that are full are told apart here, and never searched.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from extender.core.arrays import CORES, DIMENSIONS, MEMORY, SLOTS, Int64s, Mask
from extender.core.cards import Cards
from extender.core.container import Lifetime
from extender.core.needs import share_needed
from extender.core.placement import NO_CONTAINER, Placement, open_cards, place
from extender.core.pod_request import ContainerRequest, PodRequest
from extender.core.rules import Trial, passing


def worth_a_search(
    cards: Cards, request: PodRequest, placement: Placement, nodes: Int64s
) -> Int64s:
    """Find nodes on which containers fit one by one, and may fit together.

    Args:
        cards: The nodes.
        request: At least one container asks for a device.
        placement: Of the pod on `cards`.
        nodes: int64 (M,); the columns in question, ascending.

    Returns:
        int64 (K,); columns, ascending. None of a node that refused as a whole, and
        none where the container that did not fit was the first to take something.
    """
    if not cards.has_mig:
        return _worth_on_plain_cards(cards, request, placement, nodes)
    is_cut = have_instances(cards, request, nodes)
    plain = _worth_on_plain_cards(cards, request, placement, nodes[~is_cut])
    cut = _worth_on_instances(cards, request, placement, nodes[is_cut])
    return np.sort(np.concatenate([plain, cut]))


def have_instances(cards: Cards, request: PodRequest, nodes: Int64s) -> Mask:
    """Tell which nodes have cards in MIG mode that may serve.

    Args:
        cards: The nodes.
        request: Of a pod.
        nodes: int64 (M,); the columns in question.

    Returns:
        bool (M,).
    """
    if not cards.has_mig:
        return np.zeros(len(nodes), np.bool_)
    some = cards.of_nodes(nodes)
    is_some: Mask = open_cards(some, request) & some.is_mig
    found: Mask = np.logical_or.reduce(is_some, axis=0)
    return found


def _worth_on_instances(
    cards: Cards, request: PodRequest, placement: Placement, nodes: Int64s
) -> Int64s:
    """Find those where a container fits alone that did not beside the others.

    Instances of all containers stand side by side, so that any but the first to be
    placed may find too few.
    """
    refused = placement.refused_container[nodes]
    hopeful: Mask = np.zeros(len(nodes), np.bool_)
    for index in np.unique(refused[refused != NO_CONTAINER]).tolist():
        if index == _first_placed(request):
            continue
        asked = tuple(
            each if turn == index else replace(each, count=0)
            for turn, each in enumerate(request.containers)
        )
        at = (refused == index).nonzero()[0]
        alone = replace(request, containers=asked)
        hopeful[at] = place(cards.of_nodes(nodes[at]), alone).fits
    return nodes[hopeful]


def _first_placed(request: PodRequest) -> int:
    asking = [index for index, each in enumerate(request.containers) if each.count]
    return min(asking, key=lambda at: request.lifetimes[at] is Lifetime.INIT)


def _worth_on_plain_cards(
    cards: Cards, request: PodRequest, placement: Placement, nodes: Int64s
) -> Int64s:
    columns = nodes[_comes_late(request)[placement.refused_container[nodes]]]
    if not columns.size:
        return columns
    some, at = cards.narrowed(columns)
    is_open = open_cards(some, request)
    hopeful: Mask = np.zeros(some.node_count, np.bool_)
    hopeful[at] = True
    refused = np.unique(placement.refused_container[columns]).tolist()
    first = [request.containers[index] for index in refused]
    for asked in dict.fromkeys([*first, *request.containers]):
        if asked.count and hopeful.any():
            hopeful &= _fits_alone(some, request, asked, is_open)
    for together in _held_together(request):
        if hopeful.any():
            hopeful &= _has_room(some, together, is_open)
    return columns[hopeful[at]]


def _comes_late(request: PodRequest) -> Mask:
    """Tell which containers find cards that other containers of the pod hold.

    One more at the end, for the index of no container.
    """
    is_late = np.zeros(len(request.containers) + 1, np.bool_)
    is_some_held = False
    for index, asked in enumerate(request.containers):
        is_late[index] = is_some_held
        if asked.count and request.lifetimes[index] is not Lifetime.INIT:
            is_some_held = True
    return is_late


def _fits_alone(
    cards: Cards, request: PodRequest, asked: ContainerRequest, is_open: Mask
) -> Mask:
    """Tell where enough cards would serve one container, were it the only one."""
    policy = request.device_policy
    trial = Trial(cards, cards.used, asked, policy, share_needed(cards, asked))
    serves = passing(trial, is_open)
    is_enough: Mask = np.count_nonzero(serves, axis=0) >= asked.count
    if policy.on_one_numa_node and asked.count > 1:
        ranks = cards.numa_ranks
        counts = [
            np.count_nonzero(serves & (ranks == rank), axis=0)
            for rank in range(int(ranks.max(initial=0)) + 1)
        ]
        is_enough = np.max(counts, axis=0) >= asked.count
    return is_enough


def _held_together(request: PodRequest) -> Iterator[Sequence[ContainerRequest]]:
    """List which containers hold cards at the same time."""
    running: list[ContainerRequest] = []
    for asked, lifetime in zip(request.containers, request.lifetimes, strict=True):
        if lifetime is Lifetime.INIT:
            yield [*running, asked]
        else:
            running.append(asked)
    yield running


def _has_room(
    cards: Cards, together: Sequence[ContainerRequest], is_open: Mask
) -> Mask:
    """Tell where all open cards together have as much left as containers need.

    Of what differs from card to card, each takes as much as the one that takes least.
    """
    left = np.maximum(cards.capacity - cards.used, 0) * is_open
    wanted = np.zeros((DIMENSIONS, cards.node_count), np.int64)
    for asked in together:
        needed = share_needed(cards, asked)
        wanted[SLOTS] += asked.count * np.maximum(_least(needed.slots, is_open), 1)
        wanted[MEMORY] += asked.count * _least(needed.memory_mib, is_open)
        wanted[CORES] += asked.count * _least(needed.cores, is_open)
    is_room: Mask = np.all(left.sum(axis=1) >= wanted, axis=0)
    return is_room


def _least(of_cards: Int64s, is_open: Mask) -> Int64s:
    """Take the smallest of each node's open cards, 0 without one: int64 (N,)."""
    least = np.where(is_open, of_cards, np.iinfo(np.int64).max).min(axis=0)
    return np.where(is_open.any(axis=0), least, 0)
