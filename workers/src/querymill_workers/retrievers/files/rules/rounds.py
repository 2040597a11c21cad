"""After a round: enough, or what next. The one decision of the iterative search, and nothing else."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from querymill_workers.retrievers.files.rules.follow_up_names import MAX_NAMES, best_names

#: So many high files are enough, if nothing they use is missing.
ENOUGH_HIGH: Final = 3

StopReason = Literal["enough", "rounds", "token budget", "no new query"]


@dataclass(frozen=True, slots=True)
class Standing:
    """How a search stands after a round.

    ``gaps``, ``of_high`` and ``of_medium`` are names with their weight: what is missing, and the patterns of the
    high and of the medium files. ``used`` are the patterns of every earlier round.
    """

    round: int
    rounds: int
    high: int
    gaps: Mapping[str, float]
    of_high: Mapping[str, float]
    of_medium: Mapping[str, float]
    used: Collection[str]
    tokens: int
    token_budget: int


@dataclass(frozen=True, slots=True)
class Ask:
    """Another round, which searches these names."""

    names: Sequence[str]


@dataclass(frozen=True, slots=True)
class Stop:
    """No further round, and why."""

    reason: StopReason


def what_next(standing: Standing) -> Ask | Stop:
    """Decide: enough, or what to ask next.

    Stop at the token budget; with at least 3 high files and no gap; after the last round; or when no pattern is
    left that was not used. Three high files are not enough while there is a gap.
    """
    if standing.tokens >= standing.token_budget:
        return Stop("token budget")
    if standing.high >= ENOUGH_HIGH and not standing.gaps:
        return Stop("enough")
    if standing.round >= standing.rounds:
        return Stop("rounds")
    names = refined(standing)
    return Ask(names) if names else Stop("no new query")


def refined(standing: Standing) -> list[str]:
    """Choose at most 10 new patterns: gaps first, then what the high files name, else what the medium ones do."""
    used = set(standing.used)
    chosen = best_names(standing.gaps, used=used)
    chosen += best_names(standing.of_high, used=used.union(chosen))
    return chosen[:MAX_NAMES] or best_names(standing.of_medium, used=used)
