"""The `embed` kind: embed texts slice by slice, and return the vectors or write them to a table.

If the worker is killed, the next attempt resumes: vectors that exist are in the vector cache or in the table, and the
provider is not asked for them again.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

import numpy as np
import numpy.typing as npt
from pydantic import Field

from querymill_shared.board import Claim, Picture
from querymill_shared.contracts.embed import EmbedResult, EmbedTexts, TextToEmbed, pack_vector
from querymill_shared.contracts.events import Progress
from querymill_shared.contracts.results import Degradation
from querymill_workers.inference.refusals import TextRefusal, embed_each
from querymill_workers.jobs.deadline import Caller
from querymill_workers.jobs.notes import Notes
from querymill_workers.jobs.one_step import Ending, hand_in
from querymill_workers.jobs.usage import ProviderUsage
from querymill_workers.services.ports import EmbedPorts, TextVector, content_of
from querymill_workers.versions.ports import WrittenDocument, version_of
from querymill_workers.versions.texts import KIND, keys_of

Rows = Sequence[npt.NDArray[np.float32]]
#: Refused texts that a result names.
NAMED: Final = 5
#: Texts of one embedding call. After each slice the job may be cancelled, and a kill loses at most one slice.
SLICE_TEXTS = 32


class EmbedTextsNotes(Notes):
    """The notes of the step; the fields are those of `EmbedResult`."""

    model: str
    dimensions: int
    vectors: Mapping[str, str]
    written: int
    unchanged: int
    usage: dict[str, int]
    forgotten: int = 0
    refused: Mapping[str, str] = Field(default_factory=dict)


def step(claim: Claim, request: EmbedTexts, ports: EmbedPorts) -> None:
    """Embed every text whose vector is not stored yet."""
    unchanged = stored_unchanged(request, ports)
    to_embed = [text for text in request.texts if text.id not in unchanged]
    gone = assign([text for text in request.texts if text.id in unchanged], claim, request, ports)
    vectors: dict[str, str] = {}
    refused: dict[str, str] = {}
    usage, written = ProviderUsage(), 0
    for start in range(0, len(to_embed), SLICE_TEXTS):
        asked = to_embed[start : start + SLICE_TEXTS]
        found, spent = embed_each(
            [text.text for text in asked],
            ports.embeddings,
            input_type=request.input_type,
            caller=Caller.of(claim, request, ports),
        )
        usage += spent
        refused |= {
            text.id: result.reason for text, result in zip(asked, found, strict=True) if isinstance(result, TextRefusal)
        }
        rows = [result for result in found if not isinstance(result, TextRefusal)]
        texts = [text for text in asked if text.id not in refused]
        if request.into == "table":
            written += store(claim, texts, rows, request, ports)
        else:
            vectors |= packed(texts, rows)
        done = len(unchanged) + start + len(asked)
        if not ports.board.append_event(claim.job_id, Progress(stage=claim.step, done=done, total=len(request.texts))):
            return  # cancelled; the vectors so far stay cached, or stored
    notes = EmbedTextsNotes(
        model=ports.embeddings.model,
        dimensions=ports.embeddings.dimensions,
        vectors=vectors,
        written=written,
        unchanged=len(unchanged) - gone,
        usage=usage.noted(),
        forgotten=gone + len(to_embed) - len(refused) - written if request.into == "table" else 0,
        refused=refused,
    )
    hand_in(claim, request, notes, ENDING, ports)


def stored_unchanged(request: EmbedTexts, ports: EmbedPorts) -> set[str]:
    """Return the ids of the texts whose vectors the table holds already. Empty if the vectors are to be returned."""
    if request.into == "result":
        return set()
    ids = [text.id for text in request.texts]
    stored = ports.text_vectors.stored(request.collection, ids, model=ports.embeddings.model)
    return {text.id for text in request.texts if stored.get(text.id) == content_of(text.text, request.input_type)}


def assign(texts: Sequence[TextToEmbed], claim: Claim, request: EmbedTexts, ports: EmbedPorts) -> int:
    """Record which documents stored texts are parts of. Drop those of what was forgotten since, and return how many."""
    named = {text.id: text.document for text in texts if text.document is not None}
    if not named:
        return 0
    collection = request.collection
    with unforgotten([text for text in texts if text.id in named], claim, request, ports) as standing:
        ports.text_vectors.drop(collection, text_ids=named.keys() - standing, texts=())
        documents = {text_id: document for text_id, document in named.items() if text_id in standing}
        ports.text_vectors.assign(collection, documents, model=ports.embeddings.model)
    return len(named) - len(documents)


def store(claim: Claim, texts: Sequence[TextToEmbed], rows: Rows, request: EmbedTexts, ports: EmbedPorts) -> int:
    """Store vectors under the ids of their texts, except of what was forgotten since. Return how many."""
    with unforgotten(texts, claim, request, ports) as standing:
        found = [
            TextVector(text.id, content_of(text.text, request.input_type), row, text.document)
            for text, row in zip(texts, rows, strict=True)
            if text.id in standing
        ]
        ports.text_vectors.store(request.collection, found, model=ports.embeddings.model)
    return len(found)


@contextmanager
def unforgotten(
    texts: Sequence[TextToEmbed], claim: Claim, request: EmbedTexts, ports: EmbedPorts
) -> Iterator[set[str]]:
    """Within a change of `versions`, return the ids of the texts that were not forgotten since the job was accepted."""
    keys = {text.id: keys_of(text) for text in texts}
    subjects = [WrittenDocument(key) for key in dict.fromkeys(key for known_as in keys.values() for key in known_as)]
    with ports.versions.changing(request.collection, KIND, subjects, version_of(claim), whole=False) as standings:
        yield {text_id for text_id, known_as in keys.items() if not any(standings[key].forgotten for key in known_as)}


def packed(texts: Sequence[TextToEmbed], rows: Rows) -> dict[str, str]:
    """Return vectors packed for the wire, by the ids of their texts."""
    return {text.id: pack_vector(row.astype("<f4").tobytes()) for text, row in zip(texts, rows, strict=True)}


def to_result(request: EmbedTexts, picture: Picture, notes: EmbedTextsNotes) -> EmbedResult:
    """Build the result: the vectors, or how many were written, and what is missing."""
    degraded = tuple(missing(notes))
    return EmbedResult(
        job_id=picture.record.job_id,
        total=len(request.texts),
        complete=not degraded,
        degraded=degraded,
        model=notes.model,
        dimensions=notes.dimensions,
        vectors=notes.vectors,
        written=notes.written,
        unchanged=notes.unchanged,
        usage=notes.usage,
    )


def missing(notes: EmbedTextsNotes) -> Iterator[Degradation]:
    """Say which texts have no vector, and why."""
    if notes.forgotten:
        yield Degradation(stage="embed", reason=f"{notes.forgotten} texts were forgotten since", code="invalid")
    if notes.refused:
        named = [f"{text_id} ({reason})" for text_id, reason in list(notes.refused.items())[:NAMED]]
        more = ", …" if len(notes.refused) > NAMED else ""
        reason = f"{len(notes.refused)} texts have no vector: {', '.join(named)}{more}"
        yield Degradation(stage="embed", reason=reason, code="provider_refused")


ENDING: Final = Ending(EmbedTextsNotes, to_result)
