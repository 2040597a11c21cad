"""The decision after a round: stop, or search which names next."""

from collections.abc import Collection, Mapping, Sequence
from typing import Final, Literal

from querymill_shared.values import value
from querymill_workers.retrievers.files.rules.follow_up_names import MAX_NAMES, best_names

#: This many high files are enough if there is no gap.
ENOUGH_HIGH: Final = 3

StopReason = Literal["enough", "rounds", "token budget", "no new query", "nothing added"]


@value
class RoundState:
    """The state of a search after a round.

    ``added`` counts the high and medium files of the round. ``gaps``, ``of_high`` and ``of_medium`` map names to
    weights: the gaps, and the names in the high and in the medium files. ``used`` are the names that earlier rounds
    searched.
    """

    round: int
    rounds: int
    high: int
    added: int
    gaps: Mapping[str, float]
    of_high: Mapping[str, float]
    of_medium: Mapping[str, float]
    used: Collection[str]
    tokens: int
    token_budget: int


@value
class Ask:
    """Search these names in another round."""

    names: Sequence[str]


@value
class Stop:
    """End the search, for a reason."""

    reason: StopReason


def what_next(standing: RoundState) -> Ask | Stop:
    """Decide whether to stop or which names to search next.

    The search stops at the token budget, with at least 3 high files and no gap, after the last round, after a later
    round that added no high or medium file, or if no unused name is left. Three
    high files are not enough while there is a gap.
    """
    if standing.tokens >= standing.token_budget:
        return Stop("token budget")
    if standing.high >= ENOUGH_HIGH and not standing.gaps:
        return Stop("enough")
    if standing.round > 1 and not standing.added:
        return Stop("nothing added")
    if standing.round >= standing.rounds:
        return Stop("rounds")
    names = refined(standing)
    return Ask(names) if names else Stop("no new query")


def refined(standing: RoundState) -> list[str]:
    """Choose at most 10 unused names: gaps first, then names of the high files; if there are none, of medium files."""
    used = set(standing.used)
    chosen = best_names(standing.gaps, used=used)
    chosen += best_names(standing.of_high, used=used.union(chosen))
    return chosen[:MAX_NAMES] or best_names(standing.of_medium, used=used)
