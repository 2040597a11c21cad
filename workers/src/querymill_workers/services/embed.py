"""The `embed` kind: embed texts slice by slice, and return the vectors or write them to a table.

If the worker is killed, the next attempt resumes: vectors that exist are in the vector cache or in the table, and the
provider is not asked for them again.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Final

from querymill_shared.board import Claim, Picture
from querymill_shared.contracts.embed import EmbedResult, EmbedTexts, TextToEmbed, pack_vector
from querymill_shared.contracts.events import Progress
from querymill_workers.inference.ports import InputType, Vectors
from querymill_workers.jobs.deadline import Caller
from querymill_workers.jobs.notes import Notes
from querymill_workers.jobs.one_step import Ending, hand_in
from querymill_workers.jobs.revisions import ContentHash
from querymill_workers.jobs.usage import Usage
from querymill_workers.services.ports import EmbedPorts, TextVector

#: Texts of one embedding call. After each slice the job may be cancelled, and a kill loses at most one slice.
SLICE_TEXTS = 32


class EmbedNotes(Notes):
    """The notes of the step; the fields are those of `EmbedResult`."""

    model: str
    dimensions: int
    vectors: Mapping[str, str]
    written: int
    unchanged: int
    usage: dict[str, int]


def step(claim: Claim, request: EmbedTexts, ports: EmbedPorts) -> None:
    """Embed every text whose vector is not stored yet."""
    unchanged = stored_unchanged(request, ports)
    to_embed = [text for text in request.texts if text.id not in unchanged]
    vectors: dict[str, str] = {}
    usage = Usage()
    for start in range(0, len(to_embed), SLICE_TEXTS):
        texts = to_embed[start : start + SLICE_TEXTS]
        rows, spent = ports.embeddings.embed(
            [text.text for text in texts],
            input_type=request.input_type,
            caller=Caller(request.collection, request.lane),
        )
        usage += spent
        if request.into == "table":
            store(texts, rows, request, ports)
        else:
            vectors |= packed(texts, rows)
        done = len(unchanged) + start + len(texts)
        if not ports.board.tell(claim.job_id, Progress(stage=claim.step, done=done, total=len(request.texts))):
            return  # cancelled; the vectors so far stay cached, or stored
    notes = EmbedNotes(
        model=ports.embeddings.model,
        dimensions=ports.embeddings.dimensions,
        vectors=vectors,
        written=len(to_embed) if request.into == "table" else 0,
        unchanged=len(unchanged),
        usage=usage.noted(),
    )
    hand_in(claim, request, notes, ENDING, ports)


def stored_unchanged(request: EmbedTexts, ports: EmbedPorts) -> set[str]:
    """Return the ids of the texts whose vectors the table holds already. Empty if the vectors are to be returned."""
    if request.into == "result":
        return set()
    ids = [text.id for text in request.texts]
    stored = ports.text_vectors.stored(request.collection, ids, model=ports.embeddings.model)
    return {text.id for text in request.texts if stored.get(text.id) == content_of(text, request.input_type)}


def content_of(text: TextToEmbed, input_type: InputType) -> ContentHash:
    """Hash a text together with the side of a search that it is embedded for."""
    return ContentHash(hashlib.sha256(f"{input_type}\n{text.text}".encode()).hexdigest())


def store(texts: Sequence[TextToEmbed], rows: Vectors, request: EmbedTexts, ports: EmbedPorts) -> None:
    """Store vectors under the ids of their texts."""
    found = [
        TextVector(text.id, content_of(text, request.input_type), row) for text, row in zip(texts, rows, strict=True)
    ]
    ports.text_vectors.store(request.collection, found, model=ports.embeddings.model)


def packed(texts: Sequence[TextToEmbed], rows: Vectors) -> dict[str, str]:
    """Return vectors packed for the wire, by the ids of their texts."""
    return {text.id: pack_vector(row.astype("<f4").tobytes()) for text, row in zip(texts, rows, strict=True)}


def to_result(request: EmbedTexts, picture: Picture, notes: EmbedNotes) -> EmbedResult:
    """Build the result: the vectors, or how many were written."""
    return EmbedResult(
        job_id=picture.record.job_id,
        total=len(request.texts),
        complete=True,
        model=notes.model,
        dimensions=notes.dimensions,
        vectors=notes.vectors,
        written=notes.written,
        unchanged=notes.unchanged,
        usage=notes.usage,
    )


ENDING: Final = Ending(EmbedNotes, to_result)
