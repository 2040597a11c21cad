"""Explain why a file is not in the result, from what the rounds left on the board."""

from collections.abc import Mapping, Sequence
from typing import Final

from querymill_shared.contracts.files.search import FileSearch
from querymill_shared.contracts.why_not import Absence, Lever
from querymill_workers.retrievers.files.passing import passing
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
from querymill_workers.retrievers.files.rules.bands import RETURNED, band
from querymill_workers.retrievers.files.stages import EvaluatedFile, Round, candidates_of

#: The longest list that a request may ask for.
LONGEST: Final = 200


def explain_absence(
    request: FileSearch,
    path: str,
    rounds: Sequence[Round],
    ranking: Sequence[EvaluatedFile],
    ended_by: str,
    ports: FilePorts,
) -> Absence:
    """Name the first gate that a file did not pass. ``ranking`` has every evaluated file, the best first."""
    if path not in ports.files.describe(request.collection, [path]):
        return Absence.at(path, GATES, "indexed", "the collection has no such file")
    among = passing(request, ports)
    if among is not None and path not in among:
        return Absence.at(path, GATES, "filter", "it does not pass the filter, or lies outside what is searched")
    file = next((file for file in ranking if file.path == path), None)
    if file is None:
        return explain_unread(request, path, rounds, ended_by)
    passed = {"candidates": f"found by {', '.join(file.candidate.found_by)} in round {file.round}"}
    kept = [found for found in ranking if request.mode == "oneshot" or band(found.relevance) in RETURNED]
    if file not in kept:
        low = [found.path for found in ranking if band(found.relevance) == "low"]
        lever = Lever(fields={"return_low": True}, place=low.index(path) + 1) if path in low else None
        said = say_band(file.relevance) + ("; `return_low` lists low files apart" if lever else "")
        return Absence.at(path, GATES, "band", said, passed=passed, lever=None if request.return_low else lever)
    passed["band"] = f"{file.relevance:.3f} ({band(file.relevance)})"
    place = kept.index(file) + 1
    if place <= request.top_n:
        return Absence.as_hit(path, GATES, place, passed=passed)
    lever = Lever(fields={"top_n": place}, place=place) if place <= LONGEST else None
    return Absence.at(
        path, GATES, "top_n", say_place(place, len(kept), top_n=request.top_n), passed=passed, lever=lever
    )


def explain_unread(request: FileSearch, path: str, rounds: Sequence[Round], ended_by: str) -> Absence:
    """Say why a file was never evaluated: nothing found it, others came first, or the search ended before."""
    places = places_of(request, path, rounds)
    if not places:
        queries = [query for round_ in rounds for query in round_.queries]
        return Absence.at(path, GATES, "candidates", say_unfound(len(rounds), queries))
    best = min(places.values())
    if best <= request.candidates:
        return Absence.at(path, GATES, "budget", f"it was not evaluated before the search ended: {ended_by}")
    # Only the first round is the same with more candidates: what later rounds look for depends on what was evaluated.
    first = places.get(rounds[0].number, MAX_EVALUATED + 1)
    lever = Lever(fields={"candidates": first}) if first <= MAX_EVALUATED else None
    return Absence.at(path, GATES, "candidates", say_behind(places, candidates=request.candidates), lever=lever)


def places_of(request: FileSearch, path: str, rounds: Sequence[Round]) -> Mapping[int, int]:
    """Return the place of a file among all that the searches of each round found, without rounds that did not."""
    every = sum(len(round_.searches) for round_ in rounds) * 1_000
    deep = request.model_copy(update={"candidates": every})
    found = {round_.number: place_of(path, candidates_of(rounds, round_.number, deep)) for round_ in rounds}
    return {number: place for number, place in found.items() if place}
