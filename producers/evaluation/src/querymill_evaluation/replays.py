"""Two runs of the same searches side by side: what else they find, how long they take and what they cost, in words.

The intervals are those of `significance`: paired bootstrap over the searches.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any, Final

from querymill.presenting.numbers import duration, quantity
from querymill_evaluation.comparison import DECIDES
from querymill_evaluation.measures import measure_run
from querymill_evaluation.recordings import DEPTH, SearchOutcome
from querymill_evaluation.runs import MEASURES
from querymill_evaluation.significance import Difference, interval_of_mean, paired_difference
from querymill_shared.calibration import percentile
from querymill_shared.contracts.costs import NANOS, money
from querymill_shared.contracts.search import AnySearch

#: What is compared of each search beside its hits, by the names of the figures.
_TAKEN: Final[Mapping[str, Callable[[SearchOutcome], float]]] = {
    "ms": lambda outcome: outcome.ms,
    "provider_calls": lambda outcome: outcome.calls,
    "tokens": lambda outcome: outcome.tokens,
    "cost": lambda outcome: outcome.cost_nanos / NANOS,
}
#: Searches that are named because they changed most.
_NAMED: Final = 5


class NoSuchField(ValueError):
    """Raised where a search has no field of a name."""


@dataclass(frozen=True, slots=True)
class ReplayedSearch:
    """A search as it went before and after. ``grades`` are what people said of it by part, empty if nobody did."""

    id: str
    before: SearchOutcome
    after: SearchOutcome
    grades: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Measured:
    """A figure of all searches: its mean before and after, and the difference."""

    before: float
    after: float
    difference: Difference


@dataclass(frozen=True, slots=True)
class Speed:
    """The median and the 95th percentile of the times, in ms."""

    p50: float
    p95: float


@dataclass(frozen=True, slots=True)
class ReplayComparison:
    """Searches before and after.

    ``overlap`` is the mean share of the first ten that both found, ``low`` to ``high`` its interval; ``same_first``
    counts searches with the same best hit, and ``moved`` is by how many ranks what both found moved on the average,
    None if they found nothing in common. ``taken`` has the figures that `_TAKEN` names, and ``judged`` the measures of
    the ``judged_searches``. ``changed_most`` names searches by the least overlap.
    """

    searches: int
    overlap: float
    low: float
    high: float
    same_first: int
    moved: float | None
    speeds: tuple[Speed, Speed]
    taken: Mapping[str, Measured]
    currency: str
    judged_searches: int
    judged: Mapping[str, Measured]
    changed_most: tuple[str, ...]


def with_options(request: AnySearch, options: Mapping[str, Any]) -> AnySearch:
    """Return a search with some other fields.

    Raises:
        NoSuchField: Searches of its kind have no such field.
        pydantic.ValidationError: A value breaks a rule.
    """
    for name in options:
        if name not in type(request).model_fields:
            raise NoSuchField(f"{name}: is no field of a search of kind {request.kind!r}")
    fields = request.model_dump(exclude_unset=True, exclude={"version"})  # that follows from the others
    return type(request).model_validate(fields | dict(options))


def overlap(before: Sequence[str], after: Sequence[str]) -> float:
    """Return the share of hits that two rankings have in common: 2/3 for a, b, c and b, a, d; 1 if both are empty."""
    longer = max(len(before), len(after))
    return len({*before} & {*after}) / longer if longer else 1.0


def shift(before: Sequence[str], after: Sequence[str]) -> float | None:
    """Return by how many ranks common hits moved on the average: 1 for a, b, c and b, a, d. None if there are none."""
    ranks = {part: rank for rank, part in enumerate(after)}
    moved = [abs(ranks[part] - rank) for rank, part in enumerate(before) if part in ranks]
    return fmean(moved) if moved else None


def compare_searches(pairs: Sequence[ReplayedSearch]) -> ReplayComparison:
    """Compare searches before and after.

    Raises:
        ValueError: There are none.
    """
    if not pairs:
        raise ValueError("pairs: there must be at least one search")
    shares = {pair.id: overlap(pair.before.found, pair.after.found) for pair in pairs}
    low, high = interval_of_mean([*shares.values()])
    moves = [moved for pair in pairs if (moved := shift(pair.before.found, pair.after.found)) is not None]
    judged = [pair for pair in pairs if pair.grades]
    changed = sorted((share, name) for name, share in shares.items() if share < 1)
    return ReplayComparison(
        searches=len(pairs),
        overlap=fmean(shares.values()),
        low=low,
        high=high,
        same_first=sum(pair.before.found[:1] == pair.after.found[:1] for pair in pairs),
        moved=fmean(moves) if moves else None,
        speeds=(_speed([pair.before.ms for pair in pairs]), _speed([pair.after.ms for pair in pairs])),
        taken={name: _measured([(of(pair.before), of(pair.after)) for pair in pairs]) for name, of in _TAKEN.items()},
        currency=next((side.currency for pair in pairs for side in (pair.before, pair.after) if side.currency), ""),
        judged_searches=len(judged),
        judged=_judged(judged),
        changed_most=tuple(name for _, name in changed[:_NAMED]),
    )


def _measured(values: Sequence[tuple[float, float]]) -> Measured:
    before, after = [one for one, _ in values], [other for _, other in values]
    return Measured(fmean(before), fmean(after), paired_difference(before, after))


def _speed(times: Sequence[float]) -> Speed:
    return Speed(percentile(times, 50), percentile(times, 95))


def _judged(pairs: Sequence[ReplayedSearch]) -> dict[str, Measured]:
    sides = [(_measures(pair.before, pair.grades), _measures(pair.after, pair.grades)) for pair in pairs]
    return {name: _measured([(before[name], after[name]) for before, after in sides]) for name in MEASURES if sides}


def _measures(outcome: SearchOutcome, grades: Mapping[str, int]) -> Mapping[str, float]:
    scores = {part: 1 / rank for rank, part in enumerate(outcome.found, start=1)}
    return measure_run({"asked": scores}, {"asked": grades}, digits=6)


def in_words(found: ReplayComparison) -> Iterator[str]:
    """Say in sentences what a comparison shows."""
    moved = "" if found.moved is None else f" What both found moved by {found.moved:.1f} ranks on the average."
    yield (
        f"Hits: {found.overlap:.1%} of the first {DEPTH} are the same (95 % interval {found.low:.1%} to"
        f" {found.high:.1%}), and the best hit is the same for {found.same_first} of"
        f" {quantity(found.searches, 'searches')}.{moved}"
    )
    before, after = found.speeds
    yield f"Time: {_faster('median', before.p50, after.p50)}; {_faster('95th percentile', before.p95, after.p95)}."
    spent = found.taken["ms"].difference
    yield f"A search takes {spent.mean:+.1f} ms, 95 % interval {spent.low:+.1f} to {spent.high:+.1f}."
    calls, tokens = found.taken["provider_calls"], found.taken["tokens"]
    yield (
        f"Models: {calls.before:.2f} calls and {tokens.before:.0f} tokens a search, then {calls.after:.2f} and"
        f" {tokens.after:.0f}."
    )
    if found.currency:
        cost = found.taken["cost"]
        sides = [money(round(side * NANOS), found.currency) for side in (cost.before, cost.after)]
        yield f"Cost: {sides[0]} a search, then {sides[1]}."
    yield from _said_of_judged(found)
    if found.changed_most:
        yield f"Changed most: {', '.join(found.changed_most)}."


def _faster(what: str, before: float, after: float) -> str:
    ratio = f" (× {after / before:.2f})" if before > 0 else ""
    return f"{what} {duration(before)}, then {duration(after)}{ratio}"


def _said_of_judged(found: ReplayComparison) -> Iterator[str]:
    if not found.judged:
        yield "Nobody has judged the hits of these searches, so which run is better is not known."
        return
    ndcg = found.judged[DECIDES]
    difference = ndcg.difference
    yield (
        f"nDCG@10 of {quantity(found.judged_searches, 'judged searches')}: {ndcg.before:.3f}, then {ndcg.after:.3f};"
        f" difference {difference.mean:+.3f}, 95 % interval {difference.low:+.3f} to {difference.high:+.3f}:"
        f" {difference.verdict}."
    )


def as_figures(found: ReplayComparison) -> dict[str, Any]:
    """Return a comparison as an object of JSON."""
    (before, after), shown = found.speeds, dict(found.taken)
    if not found.currency:
        del shown["cost"]
    ratios = {"p50": _ratio(before.p50, after.p50), "p95": _ratio(before.p95, after.p95)}
    return {
        "searches": found.searches,
        f"overlap@{DEPTH}": {"mean": found.overlap, "low": found.low, "high": found.high},
        "same_first": found.same_first,
        "ranks_moved": found.moved,
        "speed": {
            "before": {"p50_ms": before.p50, "p95_ms": before.p95},
            "after": {"p50_ms": after.p50, "p95_ms": after.p95},
            "ratio": ratios,
        },
        **{name: _side_by_side(measured) for name, measured in shown.items()},
        "currency": found.currency,
        "judged": found.judged_searches,
        **{name: _side_by_side(measured) for name, measured in found.judged.items()},
        "changed_most": list(found.changed_most),
        "in_words": list(in_words(found)),
    }


def _ratio(before: float, after: float) -> float | None:
    return after / before if before > 0 else None


def _side_by_side(measured: Measured) -> dict[str, Any]:
    found = measured.difference
    difference = {"mean": found.mean, "low": found.low, "high": found.high}
    return {"before": measured.before, "after": measured.after, "difference": difference}
