"""The result of a file search: the files, why they were found, what is missing, and what the search cost."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final, TypeVar

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
from querymill_shared.contracts.why_not import Absence
from querymill_workers.jobs import verdicts
from querymill_workers.jobs.faults import Refused, Unavailable
from querymill_workers.jobs.stages import missing, stage, timing, used, why_nothing
from querymill_workers.retrievers.files.notes import NAMED, EvaluationNotes, FileNotes, PartNotes, SearchNotes
from querymill_workers.retrievers.files.ports import FilePorts
from querymill_workers.retrievers.files.rules.bands import RETURNED, band, counted
from querymill_workers.retrievers.files.rules.context import Context, joined, signatures_of
from querymill_workers.retrievers.files.rules.kinds import OTHER_KINDS, FileKind, kinds_asked, share_of
from querymill_workers.retrievers.files.rules.relevance import FileProfiles, least_by_words, profile_of, relevance
from querymill_workers.retrievers.files.rules.worth import ContextPart, share_of_part, with_calls, worth
from querymill_workers.retrievers.files.stages import EvaluatedFile, Round, evaluated_files, rounds_of
from querymill_workers.retrievers.files.why_not import explain_absence
from querymill_workers.text.languages import is_han

T = TypeVar("T")

#: Files that an agent without this search would read whole.
TOP_FILES: Final = 5
#: Decimals of a relevance in the result.
DECIMALS: Final = 4


def settle_late(picture: Picture, request: FileSearch, ports: FilePorts) -> None:
    """End the job at its deadline. The result names each part that is missing because a store is away."""
    settle(picture, request, ports, is_late=True)


def settle(picture: Picture, request: FileSearch, ports: FilePorts, *, is_late: bool = False) -> None:
    """End the job with the files evaluated so far. If no search finished, the job fails and says why.

    Raises:
        Unavailable: A store that the result is read from is away, and the deadline has not passed.
    """
    rounds = rounds_of(picture)
    if not any(step.state == "done" for round_ in rounds for step in round_.searches):
        verdict = verdicts.lost(picture, why_nothing(picture))
    else:
        verdict = verdicts.done(result_of(picture, rounds, request, ports, is_late=is_late))
    ports.board.settle(picture.record.job_id, verdict)


def result_of(
    picture: Picture, rounds: Sequence[Round], request: FileSearch, ports: FilePorts, *, is_late: bool
) -> FileResult:
    """Build the result."""
    files = evaluated_files(rounds, request)
    ranking = ranked(files, request)
    hits = tuple(hit_of(file, request, ports.file_profiles) for file in ranking)
    kept = tuple(hit for hit in hits if hit.band in RETURNED or request.mode == "oneshot")
    read = Reading(is_late=is_late)
    shown = kept[: request.top_n]
    returned = read.part("metadata", lambda: with_metadata(shown, request, ports), without=shown)
    is_aside = request.return_low and request.mode == "iterative"
    low = tuple(hit for hit in hits if hit.band == "low" and is_aside)
    context = read.part("context", lambda: join_context(returned, files, request, ports), without=Context("", ()))
    ended = ended_by(rounds, request)
    absence = read.part("why_not", lambda: why_not(request, rounds, ranking, ended, ports), without=None)
    lacking = (*missing_parts(picture), *read.missing, *found_nothing(rounds, request))
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
        stop=ended,
        files_read=len(files),
        token_account=token_account((*returned, *low), files, rounds, context, ports.count_tokens),
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
    request: FileSearch, rounds: Sequence[Round], ranking: Sequence[EvaluatedFile], ended: str, ports: FilePorts
) -> Absence | None:
    """Explain why a file is not among the files returned, if the request asks for one."""
    wanted = request.why_not
    return None if wanted is None else explain_absence(request, wanted, rounds, ranking, ended, ports)


def found_nothing(rounds: Sequence[Round], request: FileSearch) -> tuple[Degradation, ...]:
    """Say why there is nothing, if no search found a file."""
    searches = [step for round_ in rounds for step in round_.searches if step.state == "done"]
    if any(paths for step in searches for paths in SearchNotes.of(step).found.values()):
        return ()
    why_none = "no file has a word of the request"
    if is_han(request.query):
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


def ranked(files: Mapping[str, EvaluatedFile], request: FileSearch) -> list[EvaluatedFile]:
    """Sort files by relevance, those named by path first, or in one-shot mode by their fused rank; ties by path."""
    if request.mode == "oneshot":
        return sorted(files.values(), key=lambda file: (-file.candidate.score, file.path))
    return sorted(files.values(), key=lambda file: (file.notes.reason != NAMED, -file.relevance, file.path))


def hit_of(file: EvaluatedFile, request: FileSearch, profiles: FileProfiles) -> FileHit:
    """Show a file with every number needed to recompute its relevance."""
    profile = profile_of(file.notes.evidence, profiles)
    how: dict[str, Any] = {"formula": "judged by a language model"}
    if not file.notes.judged:
        how = {"formula": "bands(Σ weight × evidence)", "weights": dict(profile.weights), "bands": profile.bands.points}
        least = least_by_words(file.notes.evidence, profiles)
        how |= {"at least, by its words": round(least, DECIMALS)} if least else {}
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


def join_context(
    hits: Sequence[FileHit], files: Mapping[str, EvaluatedFile], request: FileSearch, ports: FilePorts
) -> Context:
    """Join the best definitions of the files returned, and a map of the others, into one text for a sub-agent.

    Contents are fetched here because the board holds no code.
    """
    if not hits or request.context_budget == 0:
        return Context("", ())
    paths = [hit.path for hit in hits]
    contents = ports.files.contents(request.collection, paths)
    symbols = ports.files.symbols(request.collection, paths)
    defined = {
        path: [(symbol.name, symbol.line) for symbol in found if symbol.role == "definition"]
        for path, found in symbols.items()
    }
    asked = kinds_asked(request.query) | frozenset(request.kinds)
    parts = [part for path in paths for part in parts_of(files[path], asked=asked, defines=bool(defined.get(path)))]
    uses = {path: [symbol.name for symbol in found if symbol.role != "definition"] for path, found in symbols.items()}
    return joined(
        with_calls(parts, contents),
        contents,
        signatures_of(defined, uses),
        budget=request.context_budget,
        count_tokens=ports.count_tokens,
    )


def parts_of(file: EvaluatedFile, *, asked: frozenset[FileKind], defines: bool) -> list[ContextPart]:
    """List what the context may show of a file, with what it is worth."""
    kind_share = 1.0 if file.notes.reason == NAMED else share_of(file.notes.kind, asked=asked)
    return [
        ContextPart(
            file.path,
            part.lines,
            part.label,
            worth(
                part.score,
                relevance=file.relevance,
                share=share_of_part(part.label, kind_share=kind_share, defines=defines, tests_asked="tests" in asked),
            ),
        )
        for part in file.notes.parts
    ]


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
        grep=sum(file.notes.grep_tokens for file in files.values() if file.round == 1),
        top_files=sum(file.tokens for file in returned[:TOP_FILES]),
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
