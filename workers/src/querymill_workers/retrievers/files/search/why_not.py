"""Explain why a file is not in the result, from what the rounds left on the board."""

from collections.abc import Sequence
from typing import Final

from querymill_shared.contracts.files.search import FileSearch
from querymill_shared.contracts.why_not import Absence, Lever
from querymill_workers.retrievers.files.ports import FilePorts
from querymill_workers.retrievers.files.rules.absence import (
    GATES,
    MAX_EVALUATED,
    place_of,
    say_band,
    say_behind,
    say_place,
    say_unfound,
)
from querymill_workers.retrievers.files.rules.bands import band
from querymill_workers.retrievers.files.search.choose import ChosenFiles
from querymill_workers.retrievers.files.search.rounds import Round
from querymill_workers.retrievers.files.search.scope import FileScope

#: The longest list that a request may ask for.
LONGEST: Final = 200


def explain_absence(
    path: str,
    scope: FileScope,
    rounds: Sequence[Round],
    chosen: ChosenFiles,
    request: FileSearch,
    ports: FilePorts,
) -> Absence:
    """Name the first gate that a file did not pass."""
    ranking, kept = chosen.ranking, chosen.kept
    file = next((file for file in ranking if file.path == path), None)
    passed = {"candidates": f"found by {', '.join(file.candidate.found_by)} in round {file.round}"} if file else {}
    lever = None
    if path not in ports.files.describe(scope.collection, [path]):
        gate, said = "indexed", "the collection has no such file"
    elif scope.paths is not None and path not in scope.paths:
        gate, said = "filter", "it does not pass the filter, or lies outside what is searched"
    elif file is None:
        gate, said, lever = explain_unread(path, rounds, chosen.ended_by, candidates=request.candidates)
    elif file not in kept:
        low = [found.path for found in ranking if band(found.relevance) == "low"]
        is_aside = Lever(fields={"return_low": True}, place=low.index(path) + 1) if path in low else None
        gate, lever = "band", None if request.return_low else is_aside
        said = say_band(file.relevance) + ("; `return_low` lists low files apart" if is_aside else "")
    else:
        passed["band"] = f"{file.relevance:.3f} ({band(file.relevance)})"
        place = kept.index(file) + 1
        if place <= request.top_n:
            return Absence.as_hit(path, GATES, place, passed=passed)
        gate, said = "top_n", say_place(place, len(kept), top_n=request.top_n)
        lever = Lever(fields={"top_n": place}, place=place) if place <= LONGEST else None
    return Absence.at(path, GATES, gate, said, passed=passed, lever=lever)


def explain_unread(
    path: str, rounds: Sequence[Round], ended_by: str, *, candidates: int
) -> tuple[str, str, Lever | None]:
    """Return the gate that a file stopped at which was never evaluated, why, and what would change it.

    Nothing found it, others came first, or the search ended before.
    """
    places = {round_.number: place for round_ in rounds if (place := place_of(path, round_.ranking))}
    if not places:
        queries = [query for round_ in rounds for query in round_.queries]
        return "candidates", say_unfound(len(rounds), queries), None
    best = min(places.values())
    if best <= candidates:
        return "budget", f"it was not evaluated before the search ended: {ended_by}", None
    # Only the first round is the same with more candidates: what later rounds look for depends on what was evaluated.
    first = places.get(rounds[0].number, MAX_EVALUATED + 1)
    lever = Lever(fields={"candidates": first}) if first <= MAX_EVALUATED else None
    return "candidates", say_behind(places, candidates=candidates), lever
