"""The result of a search with expansions: the hits of its branches in one ranking, and what is missing."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from querymill_shared.board import Picture, Step, Verdict
from querymill_shared.branches import ORIGINAL
from querymill_shared.contracts.conversations.search import DEEP_TOP_N, TOP_N, ConversationResult
from querymill_shared.contracts.events import TOLD_CHARS, TOLD_TEXTS, Hits, PartialHit
from querymill_shared.contracts.files.search import FileResult, FileSearch
from querymill_shared.contracts.kinds import KindHit, KindResult, KindSearch, limit_of
from querymill_shared.contracts.messages.search import MessageHit
from querymill_shared.contracts.modules.search import ModuleSearch
from querymill_shared.contracts.results import Degradation
from querymill_shared.contracts.why_not import Absence
from querymill_workers.dispatch.endings import BranchEnding
from querymill_workers.dispatch.joint.evidence import text_of
from querymill_workers.dispatch.ports import Ports
from querymill_workers.expansion.notes import texts_by_branch
from querymill_workers.expansion.rules.fusion import FORMULA, PLACES, K, join_branches, weights_of
from querymill_workers.jobs.stages import missing, stage, timing, used
from querymill_workers.jobs.verdicts import done, lost
from querymill_workers.retrievers.files.rules.context import interleaved
from querymill_workers.retrievers.modules.search.show import prompt_for
from querymill_workers.text.rank_fusion import JoinedHit

Endings = Mapping[str, BranchEnding]
#: What names the document of a hit, by kind.
IDS: Final[Mapping[str, str]] = {
    "messages": "vector_id", "conversations": "session_id", "modules": "document", "files": "path",
}  # fmt: skip


def show_result(picture: Picture, endings: Endings, request: KindSearch, ports: Ports) -> Verdict:
    """Return the verdict of a search: done if a branch came through, with what the others lack."""
    found = {branch: ending.result for branch, ending in endings.items() if ending.result is not None}
    if not found:
        return lost(picture, "; ".join(f"{branch}: {ending.reason}" for branch, ending in endings.items()))
    base = found.get(ORIGINAL) or next(iter(found.values()))
    degraded = tuple(lacking(picture, endings, request))
    texts = texts_by_branch(picture, request)
    steps = [step for step in picture.steps if step.name not in endings]
    ranking = joined_hits(found)
    hits = ranking[: limit_in(request, base)]
    changed: dict[str, Any] = {
        "job_id": picture.record.job_id,
        "query": request.query,
        "results": tuple(hits),
        "total": max(base.total, len(ranking)),
        "complete": not degraded,
        "degraded": degraded,
        "stages": tuple(map(stage, steps)),
        "timing": {**base.timing, **timing(picture, steps)},
        "usage": added(used_by_steps(picture, request), *(result.usage for result in found.values())),
        "expansion_texts": {**base.expansion_texts, **by_step(texts)},
        "why_not": absence_in(base.why_not, [names_of(hit, base.kind) for hit in ranking], len(hits)),
    }
    return done(base.model_copy(update=changed | of_kind(found, hits, request, ports)), picture)


def joined_hits(found: Mapping[str, KindResult]) -> list[KindHit]:
    """Return the hits of all branches, best first. If one branch alone found any, they stay as they are."""
    kind = next(iter(found.values())).kind
    rankings = {branch: [id_of(hit, kind) for hit in hits_in_time(result, found)] for branch, result in found.items()}
    rankings = {branch: ids for branch, ids in rankings.items() if ids}
    if set(rankings) <= {ORIGINAL}:
        return [hit for branch in rankings for hit in found[branch].results]
    hits: dict[str, KindHit] = {}
    for result in found.values():
        for hit in result.results:
            hits.setdefault(id_of(hit, kind), hit)
    weights = weights_of(list(rankings))
    return [with_join(hits[joined.key], joined, weights) for joined in join_branches(rankings)]


def hits_in_time(result: KindResult, found: Mapping[str, KindResult]) -> Sequence[KindHit]:
    """Return the hits of a branch from the time that the question names, if it names one and was not relaxed."""
    original = found.get(ORIGINAL)
    if not isinstance(result, ConversationResult) or not isinstance(original, ConversationResult):
        return result.results
    asked = original.understanding.time
    if asked is None or result is original or any(part.stage == "time" for part in original.degraded):
        return result.results
    return [
        hit
        for hit in result.results
        if hit.message_at is not None
        and (asked.start is None or asked.start <= hit.message_at)
        and (asked.end is None or hit.message_at < asked.end)
    ]


def absence_in(absence: Absence | None, names: Sequence[Collection[str]], shown: int) -> Absence | None:
    """Return what the original says of an absence, put right by the ranking of all branches: the first are shown.

    ``names`` are those of each hit.
    """
    if absence is None:
        return None
    place = next((place for place, of_hit in enumerate(names, start=1) if absence.id in of_hit), None)
    if place is not None and place <= shown:
        gates = [gate.model_copy(update={"outcome": "passed"}) for gate in absence.gates]
        return absence.model_copy(update={"gates": tuple(gates), "place": place, "lever": None})
    if absence.place is None:
        return absence
    (*passed, last) = absence.gates
    said = f"place {place} of all branches; {shown} are returned"
    failed = last.model_copy(update={"outcome": "failed", "said": said})
    return absence.model_copy(update={"gates": (*passed, failed), "place": None})


def with_join(hit: KindHit, joined: JoinedHit[str], weights: Mapping[str, float]) -> KindHit:
    """Return a hit with the score that it has by rank, explained beside the score that its branch gave it."""
    score = round(joined.score, PLACES)
    expanded = {
        "formula": FORMULA,
        "k": K,
        "weights": {branch: weights[branch] for branch in joined.ranks},
        "ranks": dict(joined.ranks),
        "score": score,
        "score_in_branch": hit.score,
    }
    changed: dict[str, Any] = {"score": score, "explanation": {**hit.explanation, "expanded": expanded}}
    if "rerank_score" in type(hit).model_fields:
        changed["rerank_score"] = score
    return hit.model_copy(update=changed)


def id_of(hit: KindHit, kind: str) -> str:
    """Return what names the document of a hit."""
    return str(getattr(hit, IDS[kind]))


def names_of(hit: KindHit, kind: str) -> Collection[str]:
    """Return what a request may call a hit that it misses: its id, and the own id of a message in its session."""
    own = (f"{hit.session_id}/{hit.message_id}", hit.message_id) if isinstance(hit, MessageHit) else ()
    return {id_of(hit, kind), *(name for name in own if name is not None)}


def limit_in(request: KindSearch, base: KindResult) -> int:
    """Return how many hits a search returns. A search of conversations without a limit returns more if it is deep."""
    limit: int | None = getattr(request, limit_of(type(request)))
    if limit is not None:
        return limit
    understanding = getattr(base, "understanding", None)
    return DEEP_TOP_N if understanding is not None and understanding.mode == "deep" else TOP_N


def of_kind(
    found: Mapping[str, KindResult], hits: Sequence[KindHit], request: KindSearch, ports: Ports
) -> dict[str, Any]:
    """Return what a kind joins from its hits: the prompt of modules, the context of files."""
    if isinstance(request, ModuleSearch):
        modules: Any = hits
        return {"prompt": prompt_for(request, modules, ports)}
    code = [result for result in found.values() if isinstance(result, FileResult)]
    if len(code) < 2 or not isinstance(request, FileSearch):
        return {}
    contexts = [result.context for result in code if result.context]
    context, paths = interleaved(contexts, budget=request.context_budget, count_tokens=ports.count_tokens)
    account, handed = code[0].token_account, ports.count_tokens(context)
    judged = sum(result.token_account.judged for result in code)
    spent = {"context": handed, "judged": judged, "spent": handed + account.listing + judged}
    return {"context": context, "context_files": paths, "token_account": account.model_copy(update=spent)}


def lacking(picture: Picture, endings: Endings, request: KindSearch) -> Iterable[Degradation]:
    """Name what was not written, each branch without a result, and what the results of the others lack, once."""
    yield from missing(step for step in picture.steps if step.name in request.expansions)
    told = set[tuple[str, str]]()
    for branch, ending in endings.items():
        if ending.result is None:
            yield Degradation(stage=branch, reason=ending.reason, code=ending.code)
            continue
        for part in ending.result.degraded:
            if (part.stage, part.reason) not in told:
                told.add((part.stage, part.reason))
                yield part


def used_by_steps(picture: Picture, request: KindSearch) -> Mapping[str, int]:
    """Return the provider calls and tokens of the steps that write."""
    steps: tuple[Step, ...] = tuple(step for step in picture.steps if step.name in request.expansions)
    return used(picture, steps)


def added(*usages: Mapping[str, int]) -> dict[str, int]:
    """Add up provider calls and tokens."""
    return {name: sum(usage.get(name, 0) for usage in usages) for name in dict.fromkeys(n for u in usages for n in u)}


def by_step(texts: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Return the texts that each step has written."""
    steps = dict.fromkeys(branch.partition("/")[0] for branch in texts)
    return {step: tuple(text for branch, text in texts.items() if branch.partition("/")[0] == step) for step in steps}


def show_ranking(endings: Endings, request: KindSearch) -> Hits:
    """Return the ranking so far as an event."""
    found = {branch: ending.result for branch, ending in endings.items() if ending.result is not None}
    ranking = joined_hits(found)
    return Hits(
        after_stage=ORIGINAL,
        total=len(ranking),
        hits=tuple(
            PartialHit(
                key=id_of(hit, request.kind), score=hit.score,
                text=text_of(hit)[:TOLD_CHARS] or None if place < TOLD_TEXTS else None,
            )
            for place, hit in enumerate(ranking[: limit_in(request, next(iter(found.values())))])
        ),
    )  # fmt: skip
