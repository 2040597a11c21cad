"""Evaluating a shard of candidates. File contents are read here, once; relevance is to the original request."""

from collections.abc import Mapping, Sequence
from typing import Final

from querymill_shared.board import Claim
from querymill_shared.contracts.files.search import FileSearch
from querymill_shared.contracts.results import Degradation
from querymill_shared.values import frozen
from querymill_workers.jobs.deadline import EMBEDDING_PATIENCE_S, caller_of
from querymill_workers.jobs.faults import Refused, Unavailable
from querymill_workers.jobs.usage import Usage
from querymill_workers.retrievers.files.asked import Asked, asked_of, raised
from querymill_workers.retrievers.files.embed import EMBEDDABLE, has_vectors
from querymill_workers.retrievers.files.notes import DefinitionNotes, EvaluationNotes, FileNotes
from querymill_workers.retrievers.files.ports import SPACE, FilePorts
from querymill_workers.retrievers.files.rules.candidates import shards
from querymill_workers.retrievers.files.rules.cells import cells_label, cells_of
from querymill_workers.retrievers.files.rules.code import Symbol, lines_of
from querymill_workers.retrievers.files.rules.context import shown
from querymill_workers.retrievers.files.rules.definitions import (
    ScoredDefinition,
    definitions_of,
    lifted,
    score_of_file,
    scored_definitions,
)
from querymill_workers.retrievers.files.rules.excerpts import excerpt, shown_lines
from querymill_workers.retrievers.files.rules.gaps import used_in
from querymill_workers.retrievers.files.rules.intent import (
    Intent,
    grepped,
    intent_of,
    recall_text,
    search_text,
    speaking,
    synonyms_of,
)
from querymill_workers.retrievers.files.rules.kinds import FileKind, kind_of, stated_kind
from querymill_workers.retrievers.files.rules.relevance import evidence_of, relevance, rounded
from querymill_workers.retrievers.files.stages import candidates_of, rounds_of
from querymill_workers.text.bm25 import Scored
from querymill_workers.vectors.question import embed_question

#: Files whose BM25 score for the request is looked up; any further file counts as having none of its words.
SCORED: Final = 2_000
#: Words and names that the result shows of a file.
SHOWN_WORDS: Final = 6
SHOWN_NAMES: Final = 3
#: Definitions of a file that the context may show.
PARTS: Final = 16
#: Best definitions of a file whose uses may be gaps.
USING: Final = 3
#: Time that the judge leaves to planning and settling before the deadline, in seconds.
MARGIN_S: Final = 0.3
#: How long a vector is looked for that did not come for the search, in seconds.
ONCE_MORE_S: Final = 0.1


@frozen
class SourceText:
    """A candidate as it is stored: its content, what reading it costs, its symbols, and its kind."""

    path: str
    content: str
    tokens: int
    symbols: Sequence[Symbol]
    kind: FileKind

    @property
    def defines(self) -> Sequence[str]:
        """The names it defines, in order."""
        return [symbol.name for symbol in self.symbols if symbol.role == "definition"]


def evaluate(number: int, part: int, claim: Claim, request: FileSearch, ports: FilePorts) -> EvaluationNotes:
    """Evaluate one shard of a round's candidates; files that are no longer stored are left out."""
    rounds = rounds_of(ports.board.picture(claim.job_id))
    paths = [candidate.path for candidate in shards(candidates_of(rounds, number, request))[part - 1]]
    thesaurus = ports.thesauri["files"]
    text = search_text(request.query, thesaurus)
    hits = ports.words.search(request.collection, SPACE, recall_text(request.query, thesaurus), limit=SCORED)
    scored = {hit.id: hit.scored for hit in hits if hit.scored is not None}
    intent = intent_of(text, list(scored.values()), synonyms_of(request.query, thesaurus))
    asked = asked_of(number, rounds, request)
    texts = read_files(paths, request, ports)
    had_vector = "vectors" in rounds[0].queries
    cosines, missing = compare_vectors(paths, claim, request, ports, had_vector=had_vector)
    files = {
        path: raised(weigh(text, intent, scored.get(path), cosines.get(path), asked, ports), path, text.symbols, asked)
        for path, text in texts.items()
    }
    judged, usage, unjudged = ask_judge(files, texts, claim, request, ports)
    files |= {
        path: files[path].model_copy(update={"relevance": value, "judged": True}) for path, value in judged.items()
    }
    return EvaluationNotes(files=files, usage=usage.noted(), judged_tokens=usage.tokens, degraded=(*missing, *unjudged))


def read_files(paths: Sequence[str], request: FileSearch, ports: FilePorts) -> dict[str, SourceText]:
    """Fetch the files that are still stored, by path."""
    contents = ports.files.contents(request.collection, paths)
    infos = ports.files.describe(request.collection, list(contents))
    symbols = ports.files.symbols(request.collection, list(contents))
    return {
        path: SourceText(
            path,
            content,
            infos[path].tokens,
            symbols.get(path, ()),
            kind_of(path, content, stated=stated_kind(infos[path].metadata)),
        )
        for path, content in contents.items()
        if path in infos
    }


def weigh(
    text: SourceText, intent: Intent, scored: Scored | None, cosine: float | None, asked: Asked, ports: FilePorts
) -> FileNotes:
    """Note what speaks for a file, in numbers and in words, and how relevant its words make it."""
    found = scored_definitions(intent, text.content, definitions_of(text.content, text.symbols))
    best = lifted(found, gains=asked.gains, lines=asked.lines.get(text.path, ()))
    names = speaking(intent, text.defines)
    evidence = rounded(
        evidence_of(
            intent,
            scored,
            path=text.path,
            names=names,
            passage=found[0].words if found else (),
            definitions=score_of_file(scored_one.score for scored_one in found),
            cosine=cosine,
        )
    )
    held = sorted(scored.terms, key=lambda term: -term.score) if scored is not None else []
    file_lines = lines_of(text.content)
    parts = [noted(passage, text.path, file_lines) for passage in best[:PARTS]]
    lines = excerpt([(part.lines, part.score) for part in parts])
    return FileNotes(
        evidence=evidence,
        relevance=relevance(evidence, ports.file_profiles),
        tokens=text.tokens,
        excerpt=tuple(lines),
        excerpt_tokens=ports.count_tokens(excerpted(text, lines)),
        words=tuple(term.term for term in held[:SHOWN_WORDS]),
        names=tuple(names[:SHOWN_NAMES]),
        parts=tuple(parts),
        uses=tuple(used_in(text.content, [lines for part in parts[:USING] for lines in part.lines], text.symbols)),
        kind=text.kind,
        cells=tuple(cells_of(text.path, file_lines, lines)),
        grep_tokens=ports.count_tokens(grepped(intent, text.content)),
    )


def noted(found: ScoredDefinition, path: str, lines: Sequence[str]) -> DefinitionNotes:
    """Note which lines of a definition are shown; those of a notebook with their cell."""
    chosen = shown_lines(found.definition.own, found.matching, lines)
    names = [found.definition.label, cells_label(cells_of(path, lines, chosen))]
    return DefinitionNotes(lines=tuple(chosen), label=", ".join(filter(None, names)), score=round(found.score, 6))


def compare_vectors(
    paths: Sequence[str], claim: Claim, request: FileSearch, ports: FilePorts, *, had_vector: bool
) -> tuple[Mapping[str, float], Sequence[Degradation]]:
    """Return the cosine of each file's chunk nearest to the request; if the vector is missing, none and the reason.

    If the search had no vector of the request (``had_vector``), it is looked for once more, in case it has come.
    """
    if "vectors" not in request.searched_channels or not has_vectors(request.collection, ports):
        return {}, ()
    try:
        patience_s = EMBEDDING_PATIENCE_S if had_vector else ONCE_MORE_S
        question = embed_question(
            EMBEDDABLE, claim, request, [request.query], ports, margin_s=0, patience_s=patience_s
        )  # fmt: skip
    except (Unavailable, Refused) as error:
        if error.code == "store_down":
            raise
        return {}, (Degradation(stage=claim.step, reason=f"judged by words alone: {error}", code=error.code),)
    vector, model = question.vectors[0], question.model
    near = ports.files.nearest(request.collection, vector, model=model, limit=len(paths), paths=paths)
    return {hit.path: hit.cosine for hit in near.found}, ()


def ask_judge(
    files: Mapping[str, FileNotes],
    texts: Mapping[str, SourceText],
    claim: Claim,
    request: FileSearch,
    ports: FilePorts,
) -> tuple[Mapping[str, float], Usage, Sequence[Degradation]]:
    """Return the relevance that a language model gives to excerpts, if the request asks for it, and what is missing."""
    if request.evaluator != "judge" or not files:
        return {}, Usage(), ()
    passages = {path: excerpted(texts[path], notes.excerpt) for path, notes in files.items()}
    try:
        caller = caller_of(claim, request, ports, margin_s=MARGIN_S, what="the judge")
        given, usage = ports.judge.judge(request.query, passages, caller=caller)
    except (Unavailable, Refused) as error:
        return (
            {},
            Usage(),
            (Degradation(stage=claim.step, reason=f"the default evaluator stands in: {error}", code=error.code),),
        )
    judged = {path: value for path, value in given.items() if path in files and 0 <= value <= 1}
    left = [path for path in files if path not in judged]
    missing = (
        Degradation(
            stage=claim.step, reason=f"no relevance from the judge for: {', '.join(left)}", code="provider_refused"
        ),
    )
    return judged, usage, missing if left else ()


def excerpted(text: SourceText, excerpt: Sequence[tuple[int, int]]) -> str:
    """Show the excerpt of a file, or its first lines if it has none."""
    return "\n".join(shown(text.path, (first, last), text.content) for first, last in excerpt or [(1, 40)])
