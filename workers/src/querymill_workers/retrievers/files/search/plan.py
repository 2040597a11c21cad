"""Choose: stop after a round, or search which names next."""

from collections.abc import Mapping, Sequence
from typing import Final

from querymill_shared.contracts.files.search import FileSearch
from querymill_workers.retrievers.files.notes import PlanNotes
from querymill_workers.retrievers.files.ports import FilePorts
from querymill_workers.retrievers.files.rules.bands import RETURNED, band, of_band
from querymill_workers.retrievers.files.rules.follow_up_names import is_searchable_name, weighted
from querymill_workers.retrievers.files.rules.gaps import gaps
from querymill_workers.retrievers.files.rules.rounds import Ask, RoundState, Stop, what_next
from querymill_workers.retrievers.files.search.rounds import EvaluatedFile, Round, evaluated_files

#: Places of definition looked up for each name, and gaps that a plan lists.
PLACES: Final = 20


def plan(rounds: Sequence[Round], request: FileSearch, ports: FilePorts) -> PlanNotes:
    """Decide after a round: stop, or search which names next."""
    collection, files, last = request.collection, evaluated_files(rounds), rounds[-1]
    relevances = {path: file.relevance for path, file in files.items()}
    high, medium = of_band(relevances, "high"), of_band(relevances, "medium")
    names = {
        path: {symbol.name for symbol in found if is_searchable_name(symbol.name)}
        for path, found in ports.files.symbols(collection, [*high, *medium]).items()
    }
    tokens = tokens_so_far(files, rounds, context_budget=request.context_budget)
    uses = {path: set(files[path].notes.uses) for path in high}
    frequency = ports.files.frequencies(collection, sorted(set().union(*names.values())))
    total = ports.files.counts(collection).files
    definers: dict[str, set[str]] = {}
    for place in ports.files.named(
        collection, sorted(set().union(*uses.values())), roles=("definition",), limit=PLACES
    ):
        definers.setdefault(place.symbol.name, set()).add(place.path)
    missing = gaps(uses, retrieved=files, definers=definers, frequency=frequency, files=total)
    decision = what_next(
        RoundState(
            round=last.number,
            rounds=request.max_rounds,
            high=len(high),
            added=sum(band(file.relevance) in RETURNED for file in last.files),
            gaps=missing,
            of_high=weighted({path: names.get(path, ()) for path in high}, frequency=frequency, files=total),
            of_medium=weighted({path: names.get(path, ()) for path in medium}, frequency=frequency, files=total),
            used=[name for round_ in rounds for name in round_.planned.patterns],
            tokens=tokens,
            token_budget=request.token_budget,
        )
    )
    left = tuple(sorted(missing, key=lambda name: (-missing[name], name))[:PLACES])
    match decision:
        case Ask(names_to_search):
            return PlanNotes(patterns=tuple(names_to_search), gaps=left, stop=None)
        case Stop(reason):
            return PlanNotes(patterns=(), gaps=left, stop=reason)


def tokens_so_far(files: Mapping[str, EvaluatedFile], rounds: Sequence[Round], *, context_budget: int) -> int:
    """Estimate the job's tokens if it ended now: those of the judge plus those of the context."""
    high = sum(file.notes.tokens for file in files.values() if band(file.relevance) == "high")
    return sum(round_.judged_tokens for round_ in rounds) + min(high, context_budget)
