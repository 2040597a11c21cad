"""What a result says of itself besides its hits: how the question was understood, what was searched, what it cost."""

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from querymill.gateway.console.wording import count, score
from querymill.presenting.explain.absence import say_lever
from querymill_shared.contracts.conversations.search import ConversationResult
from querymill_shared.contracts.embed import EmbedResult
from querymill_shared.contracts.files.search import FileResult
from querymill_shared.contracts.jobs import AnyResult
from querymill_shared.contracts.messages.search import MessageResult
from querymill_shared.contracts.modules.search import ModuleResult
from querymill_shared.contracts.reports.search import ReportResult
from querymill_shared.contracts.search import SearchResult
from querymill_shared.contracts.why_not import Absence, Lever

Facts = list[tuple[str, str]]
#: The numbers of a vector that are shown.
_NUMBERS: Final = 8


def facts_of(result: AnyResult) -> Facts:
    """Return what a result says, each with its name."""
    tell = next((tell for kind, tell in _TELL.items() if isinstance(result, kind)), None)
    return [] if tell is None else [(name, said) for name, said in tell(result) if said]


def _reports(result: ReportResult) -> Facts:
    routing = result.routing
    about = ", ".join((*routing.companies, *((routing.period,) if routing.period else ())))
    expanded = [(name, " · ".join(texts)) for name, texts in result.expansion_texts.items()]
    terms = "; ".join(f"{term}: {stated}" for term, stated in result.terms.items())
    return [
        ("searched", routing.reason),
        ("documents", count(routing.documents)),
        ("asked about", about),
        ("searched by, too", terms),
        *expanded,
    ]


def _everything(result: SearchResult) -> Facts:
    branches = [
        (f"{branch.kind} in {branch.collection}", branch.reason or f"{count(branch.total)} found")
        for branch in result.branches
    ]
    return [("asked", result.routing or "all at once"), *branches]


def _messages(result: MessageResult) -> Facts:
    threshold = "none" if result.similarity_threshold is None else score(result.similarity_threshold)
    below = "" if result.best_below_threshold is None else f"{score(result.best_below_threshold)}, the best one below"
    compared = f"{result.searched} comparison of vectors" if result.searched else f"no vectors: {result.why or 'none'}"
    return [
        ("ranked by", result.mode),
        ("compared", compared),
        ("threshold", f"{threshold}{f', {below}' if below else ''}"),
        ("without a vector", count(result.skipped) if result.skipped else ""),
        ("similarities", "raw cosines: the model has no measured profile" if result.uncalibrated else ""),
    ]


def _conversations(result: ConversationResult) -> Facts:
    known = result.understanding
    corrected = ", ".join(f"{each.written} → {each.read_as}" for each in known.corrections)
    synonyms = "; ".join(f"{each.term}: {', '.join(each.synonyms)}" for each in known.synonyms)
    return [
        ("searched", known.searched),
        ("read as", f"{known.intent}, importance {score(known.importance)}, {known.mode} search"),
        ("time", known.time.phrase if known.time else ""),
        ("corrected", corrected),
        ("synonyms", synonyms),
        ("left out", ", ".join(known.dropped)),
        ("scoring", result.scoring),
    ]


def _modules(result: ModuleResult) -> Facts:
    asked = [
        (part.description, ", ".join(f"{each.module} ({each.rule})" for each in part.modules) or "no module")
        for part in result.raw_history
    ]
    return [("searched by", result.searched_by), *asked, ("no document uses", ", ".join(result.unknown_modules))]


def _files(result: FileResult) -> Facts:
    rounds = [
        (
            f"round {each.round}",
            f"{each.evaluated} files judged, {each.bands.get('high', 0)} high; " + " · ".join(each.queries),
        )
        for each in result.rounds
    ]
    spent = result.token_account
    cost = f"{count(spent.spent)} tokens; the files whole would be {count(spent.returned_files)}"
    return [*rounds, ("ended", result.stop), ("still undefined", ", ".join(result.gaps)), ("cost", cost)]


def _vectors(result: EmbedResult) -> Facts:
    facts = [("model", result.model), ("dimension", count(result.dimensions))]
    if not result.vectors:
        return [*facts, ("stored", f"{count(result.written)} written, {count(result.unchanged)} unchanged")]
    first = next(iter(result.vectors))
    try:
        numbers = ", ".join(f"{number:.4f}" for number in result.embedding(first)[:_NUMBERS])
    except (ValueError, struct.error):
        numbers = "not readable"
    return [*facts, ("vectors", count(len(result.vectors))), (f"that of {first}", f"{numbers}, …")]


_TELL: Final[Mapping[type[Any], Callable[[Any], Facts]]] = {
    SearchResult: _everything,
    ReportResult: _reports,
    MessageResult: _messages,
    ConversationResult: _conversations,
    ModuleResult: _modules,
    FileResult: _files,
    EmbedResult: _vectors,
}


@dataclass(frozen=True, slots=True)
class Missed:
    """Why something is not among the hits: each gate with what became of it there, and what is said of it."""

    id: str
    gates: Sequence[tuple[str, str, str]]
    reason: str
    place: int | None = None
    lever: Lever | None = None

    @property
    def mend(self) -> str:
        """What would bring it in, "" if that is not known."""
        return "" if self.lever is None else say_lever(self.lever)


def missed_of(result: AnyResult | None) -> Missed | None:
    """Return why what was asked for is not among the hits, None if nothing was asked."""
    missed = getattr(result, "why_not", None)
    if isinstance(missed, Absence):
        failed = missed.failed
        rows = [(gate.name, gate.outcome, gate.said) for gate in missed.gates]
        reason = f"It is hit {missed.place}." if failed is None else failed.said
        return Missed(missed.id, rows, reason, missed.place, missed.lever)
    return None
