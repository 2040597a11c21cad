"""The result of an iterative search: which files, why, what is missing, and what it cost."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from querymill_shared.board import Picture, Verdict
from querymill_shared.contracts.files.search import (
    FileHit,
    FileResult,
    FileSearch,
    LineRange,
    RoundSummary,
    TokenAccount,
)
from querymill_shared.contracts.results import Degradation
from querymill_workers.dispatch.ports import Ports
from querymill_workers.jobs.faults import Refused, Unavailable
from querymill_workers.jobs.stages import stage, timing, used, why_nothing
from querymill_workers.retrievers.files.rules.bands import RETURNED, band, counted
from querymill_workers.retrievers.files.rules.context import Context, ContextFile, joined
from querymill_workers.retrievers.files.stages import EvaluatedFile, Round, evaluated, rounds_of

#: Decimals that are shown.
PLACES: Final = 4


def settle(picture: Picture, request: FileSearch, ports: Ports) -> None:
    """End the job with what was evaluated; without a single finished search it fails, with the reason."""
    rounds = rounds_of(picture)
    if not any(step.state == "done" for one in rounds for step in one.searches):
        dead = any(step.notes.get("dead") for step in picture.steps)
        ending = Verdict("dead" if dead else "failed", reason=why_nothing(picture))
    else:
        result = result_of(picture, rounds, request, ports)
        ending = Verdict("done", result=result.model_dump_json(), complete=result.complete)
    ports.board.settle(picture.record.job_id, ending)


def result_of(picture: Picture, rounds: Sequence[Round], request: FileSearch, ports: Ports) -> FileResult:
    """Put the answer together."""
    files = evaluated(rounds, request)
    ranking = ranked(files, request)
    hits = tuple(hit_of(file, request, ports) for file in ranking)
    kept = tuple(hit for hit in hits if hit.band in RETURNED or request.mode == "oneshot")
    returned = kept[: request.top_n]
    is_aside = request.return_low and request.mode == "iterative"
    low = tuple(hit for hit in hits if hit.band == "low" and is_aside)
    context, degraded = context_of([hit for hit in returned if hit.band == "high"], files, request, ports)
    missing = (*missing_parts(picture), *degraded)
    return FileResult(
        job_id=picture.record.job_id,
        query=request.query,
        collection=request.collection,
        mode=request.mode,
        results=returned,
        low=low,
        total=len(kept),
        complete=not missing,
        degraded=missing,
        stages=tuple(stage(step) for step in picture.steps),
        timing=timing(picture),
        usage=used(picture),
        patterns=tuple(pattern for one in rounds for pattern in one.patterns),
        gaps=next((tuple(one.plan.notes.get("gaps", ())) for one in reversed(rounds) if one.plan is not None), ()),
        rounds=tuple(summary(one, files) for one in rounds),
        stop=ended_by(rounds, request),
        files_read=len(files),
        token_account=account((*returned, *low), files, rounds, context, ports),
        context=context.text,
        context_files=tuple(dict.fromkeys(path for path, _ in context.parts)),
    )


def ranked(files: Mapping[str, EvaluatedFile], request: FileSearch) -> list[EvaluatedFile]:
    """Order files: one shot by the joined ranks of its searches, else by relevance; ties on the path."""
    if request.mode == "oneshot":
        return sorted(files.values(), key=lambda file: (-file.candidate.score, file.path))
    return sorted(files.values(), key=lambda file: (-file.relevance, file.path))


def hit_of(file: EvaluatedFile, request: FileSearch, ports: Ports) -> FileHit:
    """Show a file with every number that its relevance is made of."""
    profiles, evidence = ports.file_profiles, file.notes["evidence"]
    with_vector = evidence["vector"] is not None and profiles.vectors is not None
    profile = profiles.vectors if with_vector and profiles.vectors is not None else profiles.words
    how: dict[str, Any] = {"formula": "judged by a language model"}
    if not file.notes.get("judged"):
        how = {"formula": "bands(Σ weight × evidence)", "weights": dict(profile.weights), "bands": profile.bands.points}
    score = file.candidate.score if request.mode == "oneshot" else file.relevance
    return FileHit(
        path=file.path,
        score=round(score, PLACES + 2),
        relevance=round(file.relevance, PLACES),
        band=band(file.relevance),
        why=why(file),
        round=file.round,
        found_by=file.candidate.found_by,
        tokens=file.notes["tokens"],
        excerpt=tuple(LineRange(first=first, last=last) for first, last in file.notes["excerpt"]),
        explanation={**how, "evidence": dict(evidence)},
    )


def why(file: EvaluatedFile) -> str:
    """Say in a line what speaks for a file."""
    said = [f"defines {', '.join(file.notes['names'])}"] if file.notes["names"] else []
    said += [f"has {', '.join(file.notes['words'])}"] if file.notes["words"] else []
    return "; ".join(said) or "none of the query's words"


def context_of(
    high: Sequence[FileHit], files: Mapping[str, EvaluatedFile], request: FileSearch, ports: Ports
) -> tuple[Context, Sequence[Degradation]]:
    """Join the high files for a sub-agent. The board holds no code: their text is fetched for this."""
    if not high or request.context_budget == 0:
        return Context("", ()), ()
    paths = [hit.path for hit in high]
    try:
        contents = ports.files.contents(request.collection, paths)
    except (Unavailable, Refused) as error:
        return Context("", ()), (Degradation(stage="context", reason=str(error)),)
    given = [
        ContextFile(path, contents[path], [(first, last) for first, last in files[path].notes["excerpt"]])
        for path in paths
        if path in contents
    ]
    return joined(given, budget=request.context_budget, count_tokens=ports.count_tokens), ()


def account(
    returned: Sequence[FileHit],
    files: Mapping[str, EvaluatedFile],
    rounds: Sequence[Round],
    context: Context,
    ports: Ports,
) -> TokenAccount:
    """Count what the job cost, and what reading files whole would have."""
    listing = sum(ports.count_tokens(f"{hit.path} {hit.relevance} {hit.why}") for hit in returned)
    handed, judged = ports.count_tokens(context.text), judged_tokens(rounds)
    return TokenAccount(
        spent=handed + listing + judged,
        context=handed,
        listing=listing,
        judged=judged,
        returned_excerpts=sum(files[hit.path].notes["excerpt_tokens"] for hit in returned),
        returned_files=sum(hit.tokens for hit in returned),
        one_shot=sum(file.notes["tokens"] for file in files.values() if file.round == 1),
        all_candidates=sum(file.notes["tokens"] for file in files.values()),
    )


def tokens_so_far(files: Mapping[str, EvaluatedFile], rounds: Sequence[Round], request: FileSearch) -> int:
    """Count what the job would cost if it ended now: what was judged, and the context that could be handed over."""
    high = sum(file.notes["tokens"] for file in files.values() if band(file.relevance) == "high")
    return judged_tokens(rounds) + min(int(high), request.context_budget)


def judged_tokens(rounds: Sequence[Round]) -> int:
    """Add up what a language model read and wrote to evaluate."""
    return sum(int(step.notes.get("judged_tokens", 0)) for one in rounds for step in one.evaluations)


def summary(one: Round, files: Mapping[str, EvaluatedFile]) -> RoundSummary:
    """Sum a round up."""
    own = [file.relevance for file in files.values() if file.round == one.number]
    gaps = one.plan.notes.get("gaps", ()) if one.plan is not None else ()
    return RoundSummary(round=one.number, queries=one.queries, evaluated=len(own), bands=counted(own), gaps=tuple(gaps))


def ended_by(rounds: Sequence[Round], request: FileSearch) -> str:
    """Say why the search ended where it did."""
    last = rounds[-1]
    if last.stop is not None:
        return last.stop
    is_whole = all(step.is_closed for step in (*last.searches, *last.evaluations))
    if request.mode == "oneshot" and is_whole:
        return "one shot"
    return "a step failed" if is_whole and (last.plan is None or last.plan.is_closed) else "deadline"


def missing_parts(picture: Picture) -> tuple[Degradation, ...]:
    """Name what the answer was asked for and does not have."""
    noted = [
        Degradation.model_validate(part)
        for step in picture.steps
        if step.state == "done"
        for part in step.notes.get("degraded", ())
    ]
    cut = [
        Degradation(stage=step.name, reason=step.reason or "cut by the deadline")
        for step in picture.steps
        if step.state != "done"
    ]
    return (*noted, *cut)
