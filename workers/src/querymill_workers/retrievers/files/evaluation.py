"""Evaluating a shard of candidates. File contents are read here, once; relevance is to the original request."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from querymill_shared.board import Claim
from querymill_shared.contracts.files.search import FileSearch
from querymill_shared.contracts.results import Degradation
from querymill_workers.jobs.deadline import Caller, caller_of
from querymill_workers.jobs.faults import Refused, Unavailable
from querymill_workers.jobs.usage import Usage
from querymill_workers.retrievers.files.notes import EvaluationNotes, FileNotes
from querymill_workers.retrievers.files.ports import SPACE, FilePorts
from querymill_workers.retrievers.files.rules.candidates import shards
from querymill_workers.retrievers.files.rules.code import code_text
from querymill_workers.retrievers.files.rules.context import shown
from querymill_workers.retrievers.files.rules.relevance import (
    Intent,
    evidence_of,
    excerpt,
    intent_of,
    relevance,
    rounded,
    speaking,
    windows_of,
)
from querymill_workers.retrievers.files.stages import candidates_of, rounds_of
from querymill_workers.text.bm25 import Scored

#: Files whose BM25 score for the request is looked up; any further file counts as having none of its words.
SCORED: Final = 2_000
#: Words and names that the result shows of a file.
SHOWN_WORDS: Final = 6
SHOWN_NAMES: Final = 3
#: Time that the judge leaves to planning and settling before the deadline, in seconds.
MARGIN_S: Final = 0.3


@dataclass(frozen=True, slots=True)
class SourceText:
    """A candidate as it is stored: its content, what reading it costs, and the names it defines."""

    path: str
    content: str
    tokens: int
    defines: Sequence[str]


def evaluate(number: int, part: int, claim: Claim, request: FileSearch, ports: FilePorts) -> EvaluationNotes:
    """Evaluate one shard of a round's candidates; files that are no longer stored are left out."""
    rounds = rounds_of(ports.board.picture(claim.job_id))
    paths = [candidate.path for candidate in shards(candidates_of(rounds, number, request))[part - 1]]
    hits = ports.words.search(request.collection, SPACE, code_text(request.query), limit=SCORED)
    scored = {hit.id: hit.scored for hit in hits if hit.scored is not None}
    intent = intent_of(request.query, list(scored.values()))
    texts = read_files(paths, request, ports)
    cosines, missing = compare_vectors(paths, claim, request, ports)
    files = {
        text.path: weigh(text, intent, scored.get(text.path), cosines.get(text.path), ports) for text in texts.values()
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
            [symbol.name for symbol in symbols.get(path, ()) if symbol.role == "definition"],
        )
        for path, content in contents.items()
        if path in infos
    }


def weigh(text: SourceText, intent: Intent, scored: Scored | None, cosine: float | None, ports: FilePorts) -> FileNotes:
    """Note what speaks for a file, in numbers and in words, and how relevant that makes it."""
    windows = windows_of(intent, text.content)
    names = speaking(intent, text.defines)
    evidence = rounded(evidence_of(intent, scored, path=text.path, names=names, windows=windows, cosine=cosine))
    held = sorted(scored.terms, key=lambda term: -term.score) if scored is not None else []
    lines = excerpt(windows)
    return FileNotes(
        evidence=evidence,
        relevance=relevance(evidence, ports.file_profiles),
        tokens=text.tokens,
        excerpt=tuple(lines),
        excerpt_tokens=ports.count_tokens(excerpted(text, lines)),
        words=tuple(term.term for term in held[:SHOWN_WORDS]),
        names=tuple(names[:SHOWN_NAMES]),
    )


def compare_vectors(
    paths: Sequence[str], claim: Claim, request: FileSearch, ports: FilePorts
) -> tuple[Mapping[str, float], Sequence[Degradation]]:
    """Return the cosine of each file's chunk nearest to the request; without vectors, none and the reason."""
    if "vectors" not in request.channels:
        return {}, ()
    try:
        caller = Caller(request.collection, request.lane, claim.expires_at)
        vectors, _ = ports.embeddings.embed([request.query], input_type="query", caller=caller)
    except (Unavailable, Refused) as error:
        return {}, (Degradation(stage=claim.step, reason=f"judged by words alone: {error}"),)
    found = ports.files.nearest(
        request.collection, vectors[0], model=ports.embeddings.model, limit=len(paths), paths=paths
    )
    return {hit.path: hit.cosine for hit in found}, ()


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
        return {}, Usage(), (Degradation(stage=claim.step, reason=f"the default evaluator stands in: {error}"),)
    judged = {path: value for path, value in given.items() if path in files and 0 <= value <= 1}
    left = [path for path in files if path not in judged]
    missing = (Degradation(stage=claim.step, reason=f"no relevance from the judge for: {', '.join(left)}"),)
    return judged, usage, missing if left else ()


def excerpted(text: SourceText, excerpt: Sequence[tuple[int, int]]) -> str:
    """Show the excerpt of a file, or its first lines if it has none."""
    return "\n".join(shown(text.path, (first, last), text.content) for first, last in excerpt or [(1, 40)])
