"""Show: the files of a search, why they were found, what is missing, and what the search cost."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

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
from querymill_shared.contracts.history import HISTORY
from querymill_shared.contracts.results import Degradation
from querymill_shared.contracts.why_not import Absence
from querymill_shared.values import value
from querymill_workers.jobs.deadline import CUT
from querymill_workers.jobs.in_chat import context_of, use_of
from querymill_workers.jobs.stages import missing, stage, timing, used
from querymill_workers.retrievers.files.notes import FileNotes, FileSearchNotes, FileStepNotes
from querymill_workers.retrievers.files.ports import FilePorts
from querymill_workers.retrievers.files.rules.bands import RETURNED, band, counted
from querymill_workers.retrievers.files.rules.context import Context
from querymill_workers.retrievers.files.rules.kinds import OTHER_KINDS
from querymill_workers.retrievers.files.rules.relevance import (
    FileProfiles,
    least_by_words,
    mapped,
    profile_of,
    relevance,
)
from querymill_workers.retrievers.files.search.choose import ChosenFiles
from querymill_workers.retrievers.files.search.context import join_context
from querymill_workers.retrievers.files.search.query_analysis import QueryAnalysis, analyze_query, meaning_of
from querymill_workers.retrievers.files.search.rounds import (
    EvaluatedFile,
    Round,
    evaluated_files,
    next_steps,
    rounds_of,
)
from querymill_workers.vectors.rules.weights import explain_weight

#: Files that an agent without this search would read whole.
TOP_FILES: Final = 5
#: Decimals of a relevance in the result.
DECIMALS: Final = 4


@value
class ShownFiles:
    """What is shown of the chosen files. ``unread`` names what could not be read for it."""

    hits: tuple[FileHit, ...]
    low: tuple[FileHit, ...]
    context: Context
    absence: Absence | None
    unread: tuple[Degradation, ...]


def show_files(
    chosen: ChosenFiles, request: FileSearch, ports: FilePorts
) -> tuple[tuple[FileHit, ...], tuple[FileHit, ...]]:
    """Show the files that are returned, and the low ones beside them."""
    by_fusion, profiles = request.mode == "oneshot", ports.file_profiles
    hits = tuple(hit_of(file, profiles, by_fusion=by_fusion) for file in chosen.kept[: request.top_n])
    return hits, tuple(hit_of(file, profiles, by_fusion=by_fusion) for file in chosen.low)


def hit_of(file: EvaluatedFile, profiles: FileProfiles, *, by_fusion: bool) -> FileHit:
    """Show a file with every number needed to recompute its relevance."""
    score = file.candidate.score if by_fusion else file.relevance
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
        explanation=explain_relevance(file.notes, profiles),
        kind=file.notes.kind,
        cells=file.notes.cells,
    )


def explain_relevance(notes: FileNotes, profiles: FileProfiles) -> dict[str, Any]:
    """Return the evidence for a file, how its relevance follows from it, and what else changed that."""
    evidence = {"evidence": asdict(notes.evidence)}
    if notes.judged:
        formula = {"relevance_formula": notes.relevance_formula} if notes.relevance_formula else {}
        return {"formula": "judged by a language model"} | formula | evidence
    least = least_by_words(notes.evidence, profiles)
    how = explain_joined(notes, profiles) if notes.weight is not None else explain_mapped(notes, profiles)
    explained: dict[str, Any] = how | ({"at least, by its words": round(least, DECIMALS)} if least else {}) | evidence
    if notes.kind == "code" and not notes.reason:
        return explained
    kind = {} if notes.kind == "code" else {"kind": notes.kind, "share of a kind not asked for": OTHER_KINDS}
    by_evidence = {"by the evidence": round(relevance(notes.evidence, profiles, notes.weight), DECIMALS)}
    return explained | by_evidence | kind | ({"raised": notes.reason} if notes.reason else {})


def explain_mapped(notes: FileNotes, profiles: FileProfiles) -> dict[str, Any]:
    """Say how the evidence for a file is mapped to its relevance."""
    profile = profile_of(notes.evidence, profiles)
    return {"formula": "bands(Σ weight × evidence)", "weights": dict(profile.weights), "bands": profile.bands.points}


def explain_joined(notes: FileNotes, profiles: FileProfiles) -> dict[str, Any]:
    """Say how what the words of a file make of it is joined with what its vector does, by a known weight."""
    weight = notes.weight
    if weight is None:
        return {}
    points = weight.worth.points if weight.worth is not None else ()
    return {
        "formula": "(words + vectors_weight × vectors) / (1 + vectors_weight)",
        "vectors_weight": weight.weight,
        **explain_weight(weight),
        "words": round(mapped(notes.evidence, profiles.words), DECIMALS),
        "calibration": [list(point) for point in points],
    }


def show_result(
    picture: Picture,
    rounds: Sequence[Round],
    query: QueryAnalysis,
    chosen: ChosenFiles,
    shown: ShownFiles,
    request: FileSearch,
    ports: FilePorts,
) -> FileResult:
    """Put the result together."""
    lacking = (
        *missing_parts(picture),
        *never_begun(picture, rounds, request),
        *shown.unread,
        *found_nothing(rounds, query),
    )
    asked, used_turns = context_of(request), use_of(request)
    return FileResult(
        job_id=picture.record.job_id,
        query=request.query,
        collection=request.collection,
        mode=request.mode,
        results=shown.hits,
        low=shown.low,
        total=len(chosen.kept),
        complete=not lacking,
        degraded=lacking,
        stages=tuple(stage(step) for step in picture.steps),
        timing=timing(picture),
        usage=used(picture),
        patterns=tuple(pattern for round_ in rounds for pattern in round_.planned.patterns),
        gaps=next((round_.planned.gaps for round_ in reversed(rounds) if round_.plan is not None), ()),
        rounds=tuple(summary(round_) for round_ in rounds),
        stop=chosen.ended_by,
        files_read=len(chosen.ranking),
        token_account=token_account((*shown.hits, *shown.low), rounds, shown.context, ports.count_tokens),
        context=shown.context.text,
        context_files=tuple(dict.fromkeys(path for path, _ in shown.context.parts)),
        why_not=shown.absence,
        expansion_texts={HISTORY: asked.before} if asked.before else {},
        # The turns are searched with the question as one text.
        history=None if used_turns is None else used_turns.model_copy(update={"weights": (1.0,) * len(asked.before)}),
    )


def found_nothing(rounds: Sequence[Round], query: QueryAnalysis) -> tuple[Degradation, ...]:
    """Say why there is nothing, if no search found a file."""
    searches = [step for round_ in rounds for step in round_.searches if step.state == "done"]
    if any(paths for step in searches for paths in FileSearchNotes.of(step).found.values()):
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
    judged = sum(round_.judged_tokens for round_ in rounds)
    return TokenAccount(
        judged=judged,
        one_shot=sum(notes.tokens for notes in first),
        all_candidates=sum(file.notes.tokens for file in files.values()),
        grep=sum(notes.grep_tokens for notes in first),
        **tokens_returned(returned, files, context, judged, count_tokens),
    )


def tokens_returned(
    returned: Sequence[FileHit],
    files: Mapping[str, EvaluatedFile],
    context: Context,
    judged: int,
    count_tokens: Callable[[str], int],
) -> dict[str, int]:
    """Return what of the account follows from the files returned. ``judged`` is what evaluating them has cost."""
    listing = sum(count_tokens(f"{hit.path} {hit.relevance} {hit.why}") for hit in returned)
    handed = count_tokens(context.text)
    return {
        "spent": handed + listing + judged,
        "context": handed,
        "listing": listing,
        "returned_excerpts": sum(files[hit.path].notes.excerpt_tokens for hit in returned if hit.path in files),
        "returned_files": sum(hit.tokens for hit in returned),
        "top_files": sum(file.tokens for file in returned[:TOP_FILES]),
    }


def joined_again(
    result: FileResult, pictures: Iterable[Picture], hits: Sequence[FileHit], request: FileSearch, ports: FilePorts
) -> dict[str, Any]:
    """Return the fields of a result that are joined from its hits, once they are others or in another order.

    Args:
        result: What was found.
        pictures: What the searches that found it left on the board.
        hits: The files returned.
        request: What was asked, and how many files each round evaluated.
        ports: The stores of the files.

    Raises:
        Unavailable: The store does not respond.
    """
    files: dict[str, EvaluatedFile] = {}
    for picture in pictures:
        files = evaluated_files(rounds_of(picture, limit=request.candidates)) | files
    query = analyze_query(meaning_of(request), request.kinds, ports.thesauri["files"])
    context = join_context([files[hit.path] for hit in hits if hit.path in files], query, request, ports)
    judged = result.token_account.judged
    tokens = tokens_returned((*hits, *result.low), files, context, judged, ports.count_tokens)
    return {
        "context": context.text,
        "context_files": tuple(dict.fromkeys(path for path, _ in context.parts)),
        "token_account": result.token_account.model_copy(update=tokens),
    }


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


def never_begun(picture: Picture, rounds: Sequence[Round], request: FileSearch) -> Iterator[Degradation]:
    """Name the steps that were to follow those that had closed when the deadline came."""
    if picture.record.open_steps <= 0:
        for place in next_steps(rounds, plans=request.mode == "iterative"):
            yield Degradation(stage=str(place), reason=CUT, code="deadline")


def missing_parts(picture: Picture) -> tuple[Degradation, ...]:
    """Name each part that the request asked for and the result lacks."""
    noted = [part for step in picture.steps if step.state == "done" for part in FileStepNotes.of(step).degraded]
    return (*noted, *missing(picture.steps))
