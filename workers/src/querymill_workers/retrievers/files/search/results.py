"""Show: the files of a search, why they were found, what is missing, and what the search cost."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from typing import Any, Final, TypeVar

from querymill_shared.board import Picture
from querymill_shared.contracts.events import PartialHit, SearchRound
from querymill_shared.contracts.files.search import (
    FileHit,
    FileResult,
    FileSearch,
    LineRange,
    RoundSummary,
    TokenAccount,
)
from querymill_shared.contracts.results import Degradation
from querymill_shared.contracts.why_not import Absence
from querymill_workers.jobs.faults import Refused, Unavailable
from querymill_workers.jobs.stages import missing, stage, timing, used, why_nothing
from querymill_workers.jobs.verdicts import done, lost
from querymill_workers.retrievers.files.notes import FileNotes, PartNotes, SearchNotes
from querymill_workers.retrievers.files.ports import FilePorts
from querymill_workers.retrievers.files.rules.bands import RETURNED, band, counted
from querymill_workers.retrievers.files.rules.context import Context
from querymill_workers.retrievers.files.rules.kinds import OTHER_KINDS
from querymill_workers.retrievers.files.rules.relevance import FileProfiles, least_by_words, profile_of, relevance
from querymill_workers.retrievers.files.rules.structure import NAMED
from querymill_workers.retrievers.files.search.context import join_context
from querymill_workers.retrievers.files.search.query_analysis import QueryAnalysis, analyze_query
from querymill_workers.retrievers.files.search.rounds import EvaluatedFile, Round, evaluated_files, rounds_of
from querymill_workers.retrievers.files.search.scope import find_scope
from querymill_workers.retrievers.files.search.why_not import explain_absence

T = TypeVar("T")

#: Files that an agent without this search would read whole.
TOP_FILES: Final = 5
#: Decimals of a relevance in the result.
DECIMALS: Final = 4


def settle_late(picture: Picture, request: FileSearch, ports: FilePorts) -> None:
    """End the job at its deadline. The result names each part that is missing because a store is away."""
    settle(picture, rounds_of(picture, limit=request.candidates), request, ports, is_late=True)


def settle(
    picture: Picture, rounds: Sequence[Round], request: FileSearch, ports: FilePorts, *, is_late: bool = False
) -> None:
    """End the job with the files evaluated so far. If no search finished, the job fails and says why.

    Raises:
        Unavailable: A store that the result is read from is away, and the deadline has not passed.
    """
    if not any(search.state == "done" for round_ in rounds for search in round_.searches):
        verdict = lost(picture, why_nothing(picture))
    else:
        query = analyze_query(request.query, request.kinds, ports.thesauri["files"])
        result = result_of(picture, rounds, query, request, ports, is_late=is_late)
        verdict = done(result)
    ports.board.settle(picture.record.job_id, verdict)


def result_of(
    picture: Picture,
    rounds: Sequence[Round],
    query: QueryAnalysis,
    request: FileSearch,
    ports: FilePorts,
    *,
    is_late: bool,
) -> FileResult:
    """Build the result. If it ``is_late``, it does not wait for a store that is away.

    Raises:
        Unavailable: A store that the result is read from is away, and there is time to wait for it.
    """
    files, is_ranked = evaluated_files(rounds), request.mode == "oneshot"
    ranking = rank(files.values(), by_fusion=is_ranked)
    kept = [file for file in ranking if band(file.relevance) in RETURNED or is_ranked]
    aside = [file for file in ranking if band(file.relevance) == "low" and request.return_low and not is_ranked]
    top = kept[: request.top_n]
    hits = tuple(hit_of(file, ports.file_profiles, by_fusion=is_ranked) for file in top)
    low = tuple(hit_of(file, ports.file_profiles, by_fusion=is_ranked) for file in aside)
    nothing = found_nothing(rounds, query)
    read = Reading(is_late=is_late)
    returned = read.part("metadata", lambda: with_metadata(hits, request, ports), without=hits)
    context = read.part(
        "context",
        lambda: join_context(top, query.kinds, request.collection, ports, budget=request.context_budget),
        without=Context("", ()),
    )
    ended = ended_by(rounds, is_one_shot=is_ranked)
    absence = read.part("why_not", lambda: why_not(rounds, ranking, kept, ended, request, ports), without=None)
    lacking = (*missing_parts(picture), *read.missing, *nothing)
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
        rounds=tuple(summary(round_) for round_ in rounds),
        stop=ended,
        files_read=len(files),
        token_account=token_account((*returned, *low), rounds, context, ports.count_tokens),
        context=context.text,
        context_files=tuple(dict.fromkeys(path for path, _ in context.parts)),
        why_not=absence,
    )


class Reading:
    """What is read from a store for a result. ``missing`` names the parts that could not be read."""

    def __init__(self, *, is_late: bool) -> None:
        self._is_late = is_late
        self.missing: list[Degradation] = []

    def part(self, stage: str, read: Callable[[], T], *, without: T) -> T:
        """Return what is read, or what the result holds ``without`` it.

        Raises:
            Unavailable: The store is away, and there is time to wait for it.
        """
        try:
            return read()
        except (Unavailable, Refused) as error:
            if isinstance(error, Unavailable) and error.cause != "failure" and not self._is_late:
                raise
            self.missing.append(Degradation(stage=stage, reason=str(error), code=error.code))
            return without


def why_not(
    rounds: Sequence[Round],
    ranking: Sequence[EvaluatedFile],
    kept: Sequence[EvaluatedFile],
    ended: str,
    request: FileSearch,
    ports: FilePorts,
) -> Absence | None:
    """Explain why a file is not among the files returned, if the request asks for one."""
    if request.why_not is None:
        return None
    scope = find_scope(request, ports)
    return explain_absence(request.why_not, scope, rounds, ranking, kept, ended, request, ports)


def found_nothing(rounds: Sequence[Round], query: QueryAnalysis) -> tuple[Degradation, ...]:
    """Say why there is nothing, if no search found a file."""
    searches = [step for round_ in rounds for step in round_.searches if step.state == "done"]
    if any(paths for step in searches for paths in SearchNotes.of(step).found.values()):
        return ()
    why_none = "no file has a word of the request"
    if query.is_chinese:
        why_none += "; it is in Chinese, and the code may be in another language"
    return (Degradation(stage="search", reason=why_none),)


def with_metadata(hits: tuple[FileHit, ...], request: FileSearch, ports: FilePorts) -> tuple[FileHit, ...]:
    """Add the metadata of files if the request has a filter; without one its sender may not know the field."""
    if not request.filter:
        return hits
    infos = ports.files.describe(request.collection, [hit.path for hit in hits])
    return tuple(
        hit.model_copy(update={"metadata": dict(infos[hit.path].metadata) if hit.path in infos else {}}) for hit in hits
    )


def rank(files: Iterable[EvaluatedFile], *, by_fusion: bool) -> list[EvaluatedFile]:
    """Sort files by relevance, those named by path first, or ``by_fusion`` by their fused rank; ties by path."""
    if by_fusion:
        return sorted(files, key=lambda file: (-file.candidate.score, file.path))
    return sorted(files, key=lambda file: (file.notes.reason != NAMED, -file.relevance, file.path))


def hit_of(file: EvaluatedFile, profiles: FileProfiles, *, by_fusion: bool) -> FileHit:
    """Show a file with every number needed to recompute its relevance."""
    reasons = why(file)
    profile = profile_of(file.notes.evidence, profiles)
    how: dict[str, Any] = {"formula": "judged by a language model"}
    if file.notes.relevance_formula:
        how["relevance_formula"] = file.notes.relevance_formula
    if not file.notes.judged:
        how = {"formula": "bands(Σ weight × evidence)", "weights": dict(profile.weights), "bands": profile.bands.points}
        least = least_by_words(file.notes.evidence, profiles)
        how |= {"at least, by its words": round(least, DECIMALS)} if least else {}
    score = file.candidate.score if by_fusion else file.relevance
    return FileHit(
        path=file.path,
        score=round(score, DECIMALS + 2),
        relevance=round(file.relevance, DECIMALS),
        band=band(file.relevance),
        why=reasons,
        round=file.round,
        found_by=file.candidate.found_by,
        tokens=file.notes.tokens,
        excerpt=tuple(LineRange(first=first, last=last) for first, last in file.notes.excerpt),
        explanation={**how, "evidence": asdict(file.notes.evidence)} | _raised_by(file.notes, profiles),
        kind=file.notes.kind,
        cells=file.notes.cells,
    )


def _raised_by(notes: FileNotes, profiles: FileProfiles) -> dict[str, Any]:
    """Say what else than the evidence changed the relevance; {} if nothing did."""
    if notes.judged or (notes.kind == "code" and not notes.reason):
        return {}
    kind = {} if notes.kind == "code" else {"kind": notes.kind, "share of a kind not asked for": OTHER_KINDS}
    by_evidence = {"by the evidence": round(relevance(notes.evidence, profiles), DECIMALS)}
    return by_evidence | kind | ({"raised": notes.reason} if notes.reason else {})


def why(file: EvaluatedFile) -> str:
    """Explain in one line why a file is relevant."""
    parts = [file.notes.reason] if file.notes.reason else []
    parts += [f"defines {', '.join(file.notes.names)}"] if file.notes.names else []
    parts += [f"has {', '.join(file.notes.words)}"] if file.notes.words else []
    return "; ".join(parts) or "none of the query's words"


def token_account(
    returned: Sequence[FileHit], rounds: Sequence[Round], context: Context, count_tokens: Callable[[str], int]
) -> TokenAccount:
    """Count the tokens that the job cost, and those that reading whole files would have cost."""
    files = evaluated_files(rounds)
    first = [file.notes for file in files.values() if file.round == 1]
    listing = sum(count_tokens(f"{hit.path} {hit.relevance} {hit.why}") for hit in returned)
    handed, judged = count_tokens(context.text), sum(round_.judged_tokens for round_ in rounds)
    return TokenAccount(
        spent=handed + listing + judged,
        context=handed,
        listing=listing,
        judged=judged,
        returned_excerpts=sum(files[hit.path].notes.excerpt_tokens for hit in returned),
        returned_files=sum(hit.tokens for hit in returned),
        one_shot=sum(notes.tokens for notes in first),
        all_candidates=sum(file.notes.tokens for file in files.values()),
        grep=sum(notes.grep_tokens for notes in first),
        top_files=sum(file.tokens for file in returned[:TOP_FILES]),
    )


def round_event(round_: Round) -> SearchRound:
    """Report a round as it ends: what it searched for, and how relevant its files are."""
    best = sorted(round_.files, key=lambda file: (-file.relevance, file.path))
    return SearchRound(
        round=round_.number,
        queries=round_.queries,
        evaluated=len(best),
        bands=counted(file.relevance for file in best),
        files=tuple(
            PartialHit(key=file.path, score=round(file.relevance, DECIMALS))
            for file in best
            if band(file.relevance) in RETURNED
        ),
        gaps=round_.planned.gaps,
        stop=round_.planned.stop,
    )


def summary(round_: Round) -> RoundSummary:
    """Summarise a round."""
    return RoundSummary(
        round=round_.number,
        queries=round_.queries,
        evaluated=len(round_.files),
        bands=counted(file.relevance for file in round_.files),
        gaps=round_.planned.gaps,
    )


def ended_by(rounds: Sequence[Round], *, is_one_shot: bool) -> str:
    """Say why the search ended."""
    last = rounds[-1]
    if (stop := last.planned.stop) is not None:
        return stop
    is_whole = all(step.is_closed for step in (*last.searches, *last.evaluations))
    if is_one_shot and is_whole:
        return "one shot"
    return "a step failed" if is_whole and (last.plan is None or last.plan.is_closed) else "deadline"


def missing_parts(picture: Picture) -> tuple[Degradation, ...]:
    """Name each part that the request asked for and the result lacks."""
    noted = [part for step in picture.steps if step.state == "done" for part in PartNotes.of(step).degraded]
    return (*noted, *missing(picture.steps))
