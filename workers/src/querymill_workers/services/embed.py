"""Embedding texts: a slice at a time, the vectors into the job's result or into a table's rows.

Killed anywhere, the next attempt goes on where this one was: what was embedded is in the cache of vectors, or
in the table already, and the provider is not asked for it again.
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

#: Texts embedded between two looks at whether the job still lives: at most these are lost by a kill.
SLICE_TEXTS = 32


class EmbedNotes(Notes):
    """What was embedded: `EmbedResult` says what each field holds."""

    model: str
    dimensions: int
    vectors: Mapping[str, str]
    written: int
    unchanged: int
    usage: dict[str, int]


def step(claim: Claim, request: EmbedTexts, ports: EmbedPorts) -> None:
    """Embed the texts that are not stored unchanged."""
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
            return  # cancelled; what was embedded stays cached, or stored
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
    """Name the texts whose vectors the table holds already; none when they are to be returned."""
    if request.into == "result":
        return set()
    ids = [text.id for text in request.texts]
    stored = ports.text_vectors.stored(request.collection, ids, model=ports.embeddings.model)
    return {text.id for text in request.texts if stored.get(text.id) == content_of(text, request.input_type)}


def content_of(text: TextToEmbed, input_type: InputType) -> ContentHash:
    """Hash what is embedded: the text, and as which side of a search."""
    return ContentHash(hashlib.sha256(f"{input_type}\n{text.text}".encode()).hexdigest())


def store(texts: Sequence[TextToEmbed], rows: Vectors, request: EmbedTexts, ports: EmbedPorts) -> None:
    """File vectors under their texts' ids."""
    found = [
        TextVector(text.id, content_of(text, request.input_type), row) for text, row in zip(texts, rows, strict=True)
    ]
    ports.text_vectors.store(request.collection, found, model=ports.embeddings.model)


def packed(texts: Sequence[TextToEmbed], rows: Vectors) -> dict[str, str]:
    """Pack vectors for the wire, by their texts' ids."""
    return {text.id: pack_vector(row.astype("<f4").tobytes()) for text, row in zip(texts, rows, strict=True)}


def to_result(request: EmbedTexts, picture: Picture, notes: EmbedNotes) -> EmbedResult:
    """Return the vectors, or say how many were written."""
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
