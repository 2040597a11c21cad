"""The result of a file search: the files, why they were found, what is missing, and what the search cost."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from querymill_shared.board import Picture
from querymill_shared.contracts.files.search import (
    FileHit,
    FileResult,
    FileSearch,
    LineRange,
    RoundSummary,
    TokenAccount,
)
from querymill_shared.contracts.results import Degradation
from querymill_workers.jobs import verdicts
from querymill_workers.jobs.faults import Refused, Unavailable
from querymill_workers.jobs.stages import missing, stage, timing, used, why_nothing
from querymill_workers.retrievers.files.notes import EvaluationNotes, PartNotes
from querymill_workers.retrievers.files.ports import FilePorts
from querymill_workers.retrievers.files.rules.bands import RETURNED, band, counted
from querymill_workers.retrievers.files.rules.context import Context, ContextFile, joined
from querymill_workers.retrievers.files.rules.relevance import FileProfiles, profile_of
from querymill_workers.retrievers.files.stages import EvaluatedFile, Round, evaluated_files, rounds_of

#: Decimals of a relevance in the result.
DECIMALS: Final = 4


def settle(picture: Picture, request: FileSearch, ports: FilePorts) -> None:
    """End the job with the files evaluated so far. If no search finished, the job fails and says why."""
    rounds = rounds_of(picture)
    if not any(step.state == "done" for round_ in rounds for step in round_.searches):
        verdict = verdicts.lost(picture, why_nothing(picture))
    else:
        verdict = verdicts.done(result_of(picture, rounds, request, ports))
    ports.board.settle(picture.record.job_id, verdict)


def result_of(picture: Picture, rounds: Sequence[Round], request: FileSearch, ports: FilePorts) -> FileResult:
    """Build the result."""
    files = evaluated_files(rounds, request)
    ranking = ranked(files, request)
    hits = tuple(hit_of(file, request, ports.file_profiles) for file in ranking)
    kept = tuple(hit for hit in hits if hit.band in RETURNED or request.mode == "oneshot")
    returned = kept[: request.top_n]
    is_aside = request.return_low and request.mode == "iterative"
    low = tuple(hit for hit in hits if hit.band == "low" and is_aside)
    context, degraded = join_context([hit for hit in returned if hit.band == "high"], files, request, ports)
    lacking = (*missing_parts(picture), *degraded)
    return FileResult(
        job_id=picture.record.job_id,
        query=request.query,
        collection=request.collection,
        mode=request.mode,
        results=returned,
        low=low,
        total=len(kept),
        complete=not lacking,
        degraded=lacking,
        stages=tuple(stage(step) for step in picture.steps),
        timing=timing(picture),
        usage=used(picture),
        patterns=tuple(pattern for round_ in rounds for pattern in round_.planned.patterns),
        gaps=next((round_.planned.gaps for round_ in reversed(rounds) if round_.plan is not None), ()),
        rounds=tuple(summary(round_, files) for round_ in rounds),
        stop=ended_by(rounds, request),
        files_read=len(files),
        token_account=token_account((*returned, *low), files, rounds, context, ports.count_tokens),
        context=context.text,
        context_files=tuple(dict.fromkeys(path for path, _ in context.parts)),
    )


def ranked(files: Mapping[str, EvaluatedFile], request: FileSearch) -> list[EvaluatedFile]:
    """Sort files by relevance, or in one-shot mode by their fused rank; ties by path."""
    if request.mode == "oneshot":
        return sorted(files.values(), key=lambda file: (-file.candidate.score, file.path))
    return sorted(files.values(), key=lambda file: (-file.relevance, file.path))


def hit_of(file: EvaluatedFile, request: FileSearch, profiles: FileProfiles) -> FileHit:
    """Show a file with every number needed to recompute its relevance."""
    profile = profile_of(file.notes.evidence, profiles)
    how: dict[str, Any] = {"formula": "judged by a language model"}
    if not file.notes.judged:
        how = {"formula": "bands(Σ weight × evidence)", "weights": dict(profile.weights), "bands": profile.bands.points}
    score = file.candidate.score if request.mode == "oneshot" else file.relevance
    return FileHit(
        path=file.path,
        score=round(score, DECIMALS + 2),
        relevance=round(file.relevance, DECIMALS),
        band=band(file.relevance),
        why=why(file),
        round=file.round,
        found_by=file.candidate.found_by,
        tokens=file.notes.tokens,
        excerpt=tuple(LineRange(first=first, last=last) for first, last in file.notes.excerpt),
        explanation={**how, "evidence": asdict(file.notes.evidence)},
    )


def why(file: EvaluatedFile) -> str:
    """Explain in one line why a file is relevant."""
    parts = [f"defines {', '.join(file.notes.names)}"] if file.notes.names else []
    parts += [f"has {', '.join(file.notes.words)}"] if file.notes.words else []
    return "; ".join(parts) or "none of the query's words"


def join_context(
    high: Sequence[FileHit], files: Mapping[str, EvaluatedFile], request: FileSearch, ports: FilePorts
) -> tuple[Context, Sequence[Degradation]]:
    """Join the high files into one text for a sub-agent. Contents are fetched here because the board holds no code."""
    if not high or request.context_budget == 0:
        return Context("", ()), ()
    paths = [hit.path for hit in high]
    try:
        contents = ports.files.contents(request.collection, paths)
    except (Unavailable, Refused) as error:
        return Context("", ()), (Degradation(stage="context", reason=str(error)),)
    given = [ContextFile(path, contents[path], files[path].notes.excerpt) for path in paths if path in contents]
    return joined(given, budget=request.context_budget, count_tokens=ports.count_tokens), ()


def token_account(
    returned: Sequence[FileHit],
    files: Mapping[str, EvaluatedFile],
    rounds: Sequence[Round],
    context: Context,
    count_tokens: Callable[[str], int],
) -> TokenAccount:
    """Count the tokens that the job cost, and those that reading whole files would have cost."""
    listing = sum(count_tokens(f"{hit.path} {hit.relevance} {hit.why}") for hit in returned)
    handed, judged = count_tokens(context.text), judged_tokens(rounds)
    return TokenAccount(
        spent=handed + listing + judged,
        context=handed,
        listing=listing,
        judged=judged,
        returned_excerpts=sum(files[hit.path].notes.excerpt_tokens for hit in returned),
        returned_files=sum(hit.tokens for hit in returned),
        one_shot=sum(file.notes.tokens for file in files.values() if file.round == 1),
        all_candidates=sum(file.notes.tokens for file in files.values()),
    )


def tokens_so_far(files: Mapping[str, EvaluatedFile], rounds: Sequence[Round], request: FileSearch) -> int:
    """Estimate the job's tokens if it ended now: those of the judge plus those of the context."""
    high = sum(file.notes.tokens for file in files.values() if band(file.relevance) == "high")
    return judged_tokens(rounds) + min(high, request.context_budget)


def judged_tokens(rounds: Sequence[Round]) -> int:
    """Add up the tokens that a language model read and wrote while evaluating."""
    return sum(EvaluationNotes.of(step).judged_tokens for round_ in rounds for step in round_.evaluations)


def summary(round_: Round, files: Mapping[str, EvaluatedFile]) -> RoundSummary:
    """Summarise a round."""
    own = [file.relevance for file in files.values() if file.round == round_.number]
    return RoundSummary(
        round=round_.number,
        queries=round_.queries,
        evaluated=len(own),
        bands=counted(own),
        gaps=round_.planned.gaps,
    )


def ended_by(rounds: Sequence[Round], request: FileSearch) -> str:
    """Say why the search ended."""
    last = rounds[-1]
    if (stop := last.planned.stop) is not None:
        return stop
    is_whole = all(step.is_closed for step in (*last.searches, *last.evaluations))
    if request.mode == "oneshot" and is_whole:
        return "one shot"
    return "a step failed" if is_whole and (last.plan is None or last.plan.is_closed) else "deadline"


def missing_parts(picture: Picture) -> tuple[Degradation, ...]:
    """Name each part that the request asked for and the result lacks."""
    done = [step for step in picture.steps if step.state == "done"]
    noted = [part for step in done for part in PartNotes.of(step).degraded]
    return (*noted, *missing(picture.steps))
