"""Evaluating a shard of candidates: contents are read here, once; relevance is to the request as it was made."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from querymill_shared.board import Claim
from querymill_shared.contracts.files.search import FileSearch
from querymill_shared.contracts.results import Degradation
from querymill_workers.dispatch.ports import Ports
from querymill_workers.jobs.deadline import Caller
from querymill_workers.jobs.faults import Refused, Unavailable
from querymill_workers.jobs.usage import Usage
from querymill_workers.retrievers.files.ports import SPACE, FileCard
from querymill_workers.retrievers.files.rules.candidates import shards
from querymill_workers.retrievers.files.rules.code import Symbol, code_text
from querymill_workers.retrievers.files.rules.context import shown
from querymill_workers.retrievers.files.rules.relevance import (
    Evidence,
    Intent,
    evidence_of,
    excerpt,
    intent_of,
    relevance,
    speaking,
    windows_of,
)
from querymill_workers.retrievers.files.stages import candidates_of, place_of, rounds_of
from querymill_workers.text.bm25 import Scored

#: Files whose BM25 score for the request is looked up; one beyond them counts as having none of its words.
SCORED: Final = 2_000
#: What is said of a file: so many of its words, and of its names.
SAID_WORDS: Final = 6
SAID_NAMES: Final = 3
#: What planning and settling are left of the deadline when the judge is cut, in seconds.
MARGIN_S: Final = 0.3


def evaluation(claim: Claim, request: FileSearch, ports: Ports) -> dict[str, Any]:
    """Evaluate one shard; a file that is gone meanwhile is left out."""
    rounds = rounds_of(ports.board.picture(claim.job_id))
    number, part = place_of(claim.step)
    paths = [found.path for found in shards(candidates_of(rounds, number, request))[part - 1]]
    hits = ports.words.search(request.collection, SPACE, code_text(request.query), limit=SCORED)
    scored = {hit.id: hit.scored for hit in hits if hit.scored is not None}
    intent = intent_of(request.query, list(scored.values()))
    contents = ports.files.contents(request.collection, paths)
    cards = ports.files.cards(request.collection, list(contents))
    symbols = ports.files.symbols(request.collection, list(contents))
    cosines, missing = cosines_of(paths, claim, request, ports)
    files = {
        path: noted(path, content, cards[path], symbols.get(path, ()), intent, scored.get(path), cosines.get(path))
        for path, content in contents.items()
        if path in cards
    }
    for path, notes in files.items():
        notes["excerpt_tokens"] = ports.count_tokens(excerpted(path, contents[path], notes["excerpt"]))
        notes["relevance"] = relevance(Evidence(**notes["evidence"]), ports.file_profiles)
    judged, usage, unjudged = judgements(files, contents, claim, request, ports)
    for path, value in judged.items():
        files[path] |= {"relevance": value, "judged": True}
    return {
        "files": files,
        "usage": {"provider_calls": usage.calls, "tokens": usage.tokens},
        "judged_tokens": usage.tokens,
        "degraded": [part.model_dump() for part in (*missing, *unjudged)],
    }


def noted(
    path: str,
    content: str,
    card: FileCard,
    symbols: Sequence[Symbol],
    intent: Intent,
    scored: Scored | None,
    cosine: float | None,
) -> dict[str, Any]:
    """Note what speaks for a file, in numbers and in words."""
    windows = windows_of(intent, content)
    names = speaking(intent, [one.name for one in symbols if one.role == "definition"])
    evidence = evidence_of(intent, scored, path=path, names=names, windows=windows, cosine=cosine)
    held = sorted(scored.terms, key=lambda term: -term.score) if scored is not None else []
    return {
        "evidence": {name: None if value is None else round(value, 6) for name, value in asdict(evidence).items()},
        "tokens": card.tokens,
        "excerpt": excerpt(windows),
        "words": [term.term for term in held[:SAID_WORDS]],
        "names": names[:SAID_NAMES],
    }


def cosines_of(
    paths: Sequence[str], claim: Claim, request: FileSearch, ports: Ports
) -> tuple[Mapping[str, float], Sequence[Degradation]]:
    """Compare files with the request by their nearest chunks; without vectors the words judge alone."""
    if "vectors" not in request.channels:
        return {}, ()
    try:
        caller = Caller(request.collection, request.lane, claim.expires_at)
        vectors, _ = ports.embeddings.embed([request.query], input_type="query", caller=caller)
    except (Unavailable, Refused) as error:
        return {}, (Degradation(stage=claim.step, reason=f"judged by words alone: {error}"),)
    found = ports.files.nearest(
        request.collection, vectors[0], model=ports.embeddings.model, most=len(paths), paths=paths
    )
    return {hit.path: hit.cosine for hit in found}, ()


def judgements(
    files: Mapping[str, Mapping[str, Any]],
    contents: Mapping[str, str],
    claim: Claim,
    request: FileSearch,
    ports: Ports,
) -> tuple[Mapping[str, float], Usage, Sequence[Degradation]]:
    """Let a language model judge the excerpts, where that was asked for; what it does not judge keeps its relevance."""
    if request.evaluator != "judge" or not files:
        return {}, Usage(), ()
    texts = {path: excerpted(path, contents[path], notes["excerpt"]) for path, notes in files.items()}
    until = None if claim.expires_at is None else claim.expires_at - MARGIN_S
    if until is not None and until <= ports.clock():
        reason = "the default evaluator stands in: cut by the deadline before the judge was asked"
        return {}, Usage(), (Degradation(stage=claim.step, reason=reason),)
    try:
        said, usage = ports.judge.judge(request.query, texts, caller=Caller(request.collection, request.lane, until))
    except (Unavailable, Refused) as error:
        return {}, Usage(), (Degradation(stage=claim.step, reason=f"the default evaluator stands in: {error}"),)
    judged = {path: value for path, value in said.items() if path in files and 0 <= value <= 1}
    left = [path for path in files if path not in judged]
    missing = (Degradation(stage=claim.step, reason=f"no relevance from the judge for: {', '.join(left)}"),)
    return judged, usage, missing if left else ()


def excerpted(path: str, content: str, excerpt: Sequence[tuple[int, int]]) -> str:
    """Show a judge what speaks of the request, or how the file begins."""
    return "\n".join(shown(path, (first, last), content) for first, last in excerpt or [(1, 40)])
