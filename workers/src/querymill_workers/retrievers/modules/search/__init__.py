"""Search code documents: by the modules that a request asks for, by its text, and by vectors of descriptions.

    request -> parts: as given, or split by a chat model (a branch of its own)
            -> understand: modules of each part, channels, texts
            -> recall by modules, by words and by vectors
            -> judge: scores of each channel
            -> choose: one ranking, fused by rank -> explain an absence
    the last branch to end shows the result: documents, explanations, histories, prompt

Each module is one stage, and takes what the stages before it return.
"""

from collections.abc import Sequence
from dataclasses import replace

from querymill_shared.board import Claim, Outcome
from querymill_shared.contracts.modules.search import ModuleSearch
from querymill_shared.hits import BoardHit
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.faults import Unavailable
from querymill_workers.jobs.log_lines import log_failure
from querymill_workers.jobs.stages import Laps
from querymill_workers.retrievers.modules.notes import BranchNotes, FusedDocument
from querymill_workers.retrievers.modules.ports import ModulePorts
from querymill_workers.retrievers.modules.rules.documents import encode_id, read_id
from querymill_workers.retrievers.modules.search.choose import choose_documents
from querymill_workers.retrievers.modules.search.judge import judge_documents
from querymill_workers.retrievers.modules.search.parts import find_parts
from querymill_workers.retrievers.modules.search.recall import recall_documents
from querymill_workers.retrievers.modules.search.show import conclude
from querymill_workers.retrievers.modules.search.understand import understand_request
from querymill_workers.retrievers.modules.search.why_not import explain_absence
from querymill_workers.vectors.rules.worth import VectorsWorth


def step(claim: Claim, request: ModuleSearch, ports: ModulePorts) -> Sequence[Bell]:
    """Run one branch, finish it on the board, then settle the job or report progress."""
    outcome = run_branch(claim, request, ports)
    picture = ports.board.finish(claim, outcome)
    if picture is not None:
        conclude(picture, request, ports)
    return []


def find_worth(request: ModuleSearch, ports: ModulePorts) -> VectorsWorth | None:
    """Return what the vectors of the descriptions are worth, None if that is not known."""
    vectors = ports.vectors["modules"]
    model = vectors.active_model(request.collection)
    return None if model is None else vectors.worth(request.collection, model=model)


def run_branch(claim: Claim, request: ModuleSearch, ports: ModulePorts) -> Outcome:
    """Search, and return the ranking with what the result needs of this branch; failed if no parts could be found."""
    laps = Laps(ports)
    try:
        parts = find_parts(claim, request, ports)
    except Unavailable as error:
        log_failure(claim, error)
        laps.lap("expand")
        return Outcome("failed", str(error), ms=laps.total_ms, code=error.code, parts=laps.parts)
    laps.lap("parts")
    vocabulary = ports.modules.vocabulary(request.collection)
    understood = understand_request(
        parts.weighted, vocabulary, request, ports.shorthands, ports.thesauri["modules"], find_worth(request, ports)
    )  # fmt: skip
    recalled = recall_documents(understood, claim, request, ports, laps)
    judged = judge_documents(understood, recalled, request)
    chosen = choose_documents(understood, judged, request)
    laps.lap("score")
    hits = tuple(BoardHit(encode_id(hit.document), hit.score, 0) for hit in chosen.ranking)
    absence = None
    if request.why_not is not None:
        silent = {missing.stage for missing in recalled.degraded if missing.code != "pending"}
        asking = replace(understood, channels=[name for name in understood.channels if name not in silent])

        def again(changed: ModuleSearch) -> Sequence[FusedDocument]:
            found = judge_documents(asking, recall_documents(asking, claim, changed, ports, Laps(ports)), changed)
            return choose_documents(asking, found, changed).ranking

        absence = explain_absence(read_id(request.why_not), understood, chosen.ranking, again, request, ports)
        laps.lap("why_not")
    notes = BranchNotes(
        raw=recalled.modules.raw,
        ranking=tuple(chosen.ranking),
        matches=chosen.matches,
        weights=dict(chosen.weights),
        degraded=tuple(recalled.degraded),
        timing=laps.ms,
        lexicon_version=vocabulary.version,
        usage=(parts.usage + recalled.vectors.usage).noted(),
        unknown_modules=understood.unknown,
        why_not=absence,
        weight=understood.weight,
    )
    return Outcome(hits={claim.step: hits}, notes=notes.for_board(), ms=laps.total_ms, parts=laps.parts)
