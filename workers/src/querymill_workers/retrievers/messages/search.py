"""`messages`: a question in, the messages that mean the same out.

    question -> embed -> nearest rows -> calibrated threshold -> hits           mode "vector"
                      ├-> and pending rows by their words, at similarity 0.5
                      └-> and words, joined by rank                             mode "hybrid"
             -> no vector to be had: substring, then words                      mode "text", and why

A search is one step. Rules and formulas: ``domain/calibration.py``, ``domain/rank_fusion.py``.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from querymill_shared.board import Claim, Outcome, Picture, Verdict
from querymill_shared.contracts.messages.search import MessageResult, MessageSearch
from querymill_shared.contracts.results import Degradation
from querymill_workers.dispatch.ports import Ports
from querymill_workers.inference.ports import Caller
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.faults import Refused, Unavailable
from querymill_workers.jobs.stages import Laps, stage, timing, used
from querymill_workers.jobs.usage import Usage
from querymill_workers.retrievers.messages.hits import Found, by_similarity
from querymill_workers.retrievers.messages.models import searching
from querymill_workers.retrievers.messages.rules.sessions import MessageFilter
from querymill_workers.retrievers.messages.words import by_text, by_words_too, with_pending

#: What the text fallback is left of the deadline when the embedding is cut, in seconds.
FALLBACK_MARGIN_S = 0.3


def step(claim: Claim, request: MessageSearch, ports: Ports) -> Sequence[Bell]:
    """Search; what went wrong with the vectors makes it a search by text, not a failure."""
    laps = Laps(ports)
    where = MessageFilter(request.collection, request.vector_types, request.session_id, request.exclude_message_id)
    found, usage = searched(claim, request, where, laps, ports)
    laps.lap("search")
    notes = {
        "found": found.model_dump(mode="json"),
        "timing": laps.ms,
        "usage": {"provider_calls": usage.calls, "tokens": usage.tokens},
    }
    picture = ports.board.finish(claim, Outcome(notes=notes, ms=laps.total_ms))
    if picture is not None:
        conclude(picture, request, ports)
    return []


def searched(
    claim: Claim, request: MessageSearch, where: MessageFilter, laps: Laps, ports: Ports
) -> tuple[Found, Usage]:
    """Search by the model that the collection is searched by; by text if the question gets no vector of it."""
    try:
        asked = searching(request.collection, ports)
        vector, usage = embedded(claim, request, asked)
    except (Unavailable, Refused) as error:
        laps.lap("embed")
        return by_text(request, where, ports, why=str(error)), Usage()
    laps.lap("embed")
    found = compared(request, where, vector, asked)
    if not found.compared and ports.sessions.searched_by(request.collection) not in (None, asked.embeddings.model):
        return searched(claim, request, where, laps, ports)  # switched meanwhile, and its rows are gone
    return found, usage


def embedded(claim: Claim, request: MessageSearch, ports: Ports) -> tuple[npt.NDArray[np.float32], Usage]:
    """Embed the question.

    Raises:
        Unavailable, Refused: No vector in the time there is.
    """
    until = None if claim.expires_at is None else claim.expires_at - FALLBACK_MARGIN_S
    if until is not None and until <= ports.clock():
        raise Unavailable("no time was left to embed the question")
    caller = Caller(request.collection, request.lane, until)
    vectors, usage = ports.embeddings.embed([request.query], input_type="query", caller=caller)
    return vectors[0], usage


def compared(request: MessageSearch, where: MessageFilter, vector: npt.NDArray[np.float32], ports: Ports) -> Found:
    """Search by vectors; by text where no row has one that the question's can be compared with."""
    model = ports.embeddings.model
    search = by_words_too if request.hybrid else by_similarity
    found = search(request, where, vector, ports)
    if not found.skipped:
        return found
    if not found.compared:
        why = f"none of the {found.skipped} rows has a vector of {model} yet"
        return by_text(request, where, ports, why=why).model_copy(update={"skipped": found.skipped})
    return found if request.hybrid else with_pending(found, request, where, ports)


def conclude(picture: Picture, request: MessageSearch, ports: Ports) -> None:
    """Settle with what the search found, or with the reason why it could not."""
    (search,) = picture.steps
    if not search.is_closed:
        return
    if search.state == "failed":
        verdict = Verdict("dead" if search.notes.get("dead") else "failed", reason=search.reason)
        ports.board.settle(picture.record.job_id, verdict)
        return
    found = Found.model_validate(search.notes["found"])
    degraded = tuple(Degradation(stage=name, reason=reason) for name, reason in found.degraded)
    result = MessageResult(
        job_id=picture.record.job_id,
        query=request.query,
        collection=request.collection,
        session_id=request.session_id,
        similarity_threshold=request.similarity_threshold,
        complete=not degraded,
        degraded=degraded,
        stages=(stage(search),),
        timing=timing(picture) | {f"{name}_ms": ms for name, ms in search.notes["timing"].items()},
        usage=used(picture),
        **found.model_dump(exclude={"degraded", "compared"}),
    )
    verdict = Verdict("done", result=result.model_dump_json(), complete=result.complete)
    ports.board.settle(picture.record.job_id, verdict)
