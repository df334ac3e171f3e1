"""What a soak came to: its figures, and what is not as it must be."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from tests.control_plane.soak.parts import Parts, lines_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Required:
    """How much of everything there must have been, at least."""

    pods: int
    kills: int
    aimed_kills: int
    restarts: int
    compactions: int
    watches_cut: int


@dataclass(frozen=True, slots=True)
class Report:
    """What a soak came to.

    Attributes:
        lines: All figures, for people.
        problems: What is not as it must be; empty when all is well.
    """

    lines: list[str]
    problems: list[str]


def report_of(parts: Parts, required: Required, wrong: Sequence[str]) -> Report:
    """Hold what happened against what had to.

    Args:
        parts: Of the soak.
        required: How much there must have been of everything.
        wrong: What the end showed.
    """
    excuses = parts.excuses()
    found = [*parts.witness.wrongs]
    for kubelet in parts.kubelets:
        found += kubelet.befell
    excused = [one.text for one in found if excuses.excuse(one)]
    problems = [*wrong, *(one.text for one in found if not excuses.excuse(one))]
    for refusal in parts.load.refusals:
        is_excused = excuses.excuse_refusal(refusal)
        (excused if is_excused else problems).append(refusal.text)
    problems += _of_extenders(parts)
    problems += _too_few(parts, required)
    if parts.stream.gaps:
        problems.append("changes may have been missed")
    lines = [*lines_of(parts), *_section("excused", excused)]
    return Report([*lines, *_section("PROBLEMS", problems)], problems)


def _of_extenders(parts: Parts) -> Iterator[str]:
    for one in parts.replicas:
        for difference in one.differences:
            yield f"{one.name}: {difference}"
    counted = parts.counted()
    if counted["gpu_extender_audit_differences_total"]:
        yield "an extender's audit found differences"
    told = {
        one.name: one.counted()["gpu_extender_overfull_cards_seen_total placed"]
        for one in parts.replicas
    }
    yield from more_placed_than_crossed(told, parts.witness.crossed_cards)


def more_placed_than_crossed(told: Mapping[str, int], crossed: int) -> Iterator[str]:
    """Hold what each extender saw placed without room against what was crossed.

    Args:
        told: By extender, how often it saw a card overfull by what was placed there.
            It cannot tell what was crossed from that, but sees each of them once.
        crossed: How often that was so.
    """
    for name, times in told.items():
        if times > crossed:
            yield f"{name} saw {times} cards overfull by a placement, not {crossed}"


def _too_few(parts: Parts, required: Required) -> Iterator[str]:
    happened = {
        "pods": parts.load.counts["created"],
        "kills": parts.kills.counts.total(),
        "aimed_kills": parts.kills.aimed,
        "restarts": parts.outages.restarts,
        "compactions": parts.outages.compactions,
        "watches_cut": parts.trouble.watches_cut,
    }
    for name, least in asdict(required).items():
        if happened[name] < least:
            yield f"{name}: {happened[name]}, not {least}"


def _section(name: str, lines: Sequence[str]) -> list[str]:
    return [f"{name}: {len(lines)}", *(f"  {line}" for line in lines)]
