"""The `embed` kind: embed texts, and return the vectors or write them to a table."""

import base64
import struct
from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field

from querymill_shared.contracts.fields import (
    WITH_TEXT,
    Contract,
    Lane,
    Name,
    NoDeadline,
    Request,
    RequestLane,
    not_blank,
    without_nul,
)
from querymill_shared.contracts.results import Asks, JobResult
from querymill_shared.queues import Queue

#: Maximum number of texts in a job, because all vectors are in one result.
MAX_TEXTS = 512
#: Longest text, in characters: a little more than the embedding models with the longest input read (8,191 tokens).
MAX_TEXT_CHARS = 32_000

TextId = Name
#: Extracted text may hold NUL, which some providers reject; it becomes a blank.
EmbeddedText = Annotated[
    str,
    Field(max_length=MAX_TEXT_CHARS, json_schema_extra=WITH_TEXT),
    AfterValidator(without_nul),
    AfterValidator(not_blank),
]


class TextToEmbed(Contract):
    """A text, and the id that its vector is stored under.

    Callers that cut documents must name the ``document``: the stored vector then goes when the document is forgotten.
    Without it, a vector goes only with a document that has the id of the text, or that holds the whole text as one of
    its own, such as a message or a page.

    Attributes:
        id: your own id of the text, by which its vector is returned or stored; unique in the request
        text: text to embed
        document: id of the document that the text is a part of, in any retriever; null: of none
    """

    id: TextId
    text: EmbeddedText
    document: Name | None = None


def _ids_are_distinct(texts: tuple[TextToEmbed, ...]) -> tuple[TextToEmbed, ...]:
    if len({text.id for text in texts}) != len(texts):
        raise ValueError("every id must occur once")
    return texts


class EmbedTexts(Request, Asks["EmbedResult"]):
    """Embed texts for one side of a search. The job is durable: it has no deadline.

    Attributes:
        texts: texts to embed; no id may occur twice
        input_type: side of a search that the texts are on: questions ("query") or searchable texts ("passage")
        into: where the vectors go: "result" returns them; "table" stores them in PostgreSQL (`text_vectors`, by
            collection, id and model), and does not embed again what is stored unchanged
    """

    queue: ClassVar[Queue] = Queue.EMBED
    kind: Literal["embed"] = "embed"
    lane: RequestLane = Lane.BULK
    texts: Annotated[
        tuple[TextToEmbed, ...], Field(min_length=1, max_length=MAX_TEXTS), AfterValidator(_ids_are_distinct)
    ]
    input_type: Literal["query", "passage"] = "passage"
    into: Literal["result", "table"] = "result"
    deadline: NoDeadline = None

    @property
    def steps(self) -> tuple[str, ...]:
        """Embedding is one step, which resumes after a failure."""
        return ("embed",)


class EmbedResult(JobResult):
    """The vectors, or how many were stored. ``total`` is the number of texts.

    `embedding` unpacks a vector.

    Attributes:
        model: model that embedded the texts
        dimensions: numbers in each vector
        vectors: vectors by the ids of their texts, each as base64 of `dimensions` little-endian float32; empty with
            `into="table"`
        written: rows written to the table; 0 with `into="result"`
        unchanged: rows that were stored before, and not embedded again; those that a killed attempt of the same job
            wrote are among them
    """

    kind: Literal["embed"] = "embed"
    model: str
    dimensions: int
    vectors: Mapping[str, str] = Field(default_factory=dict)
    written: int = 0
    unchanged: int = 0

    def embedding(self, text_id: str) -> tuple[float, ...]:
        """Return the vector of a text, unpacked."""
        return struct.unpack(f"<{self.dimensions}f", base64.b64decode(self.vectors[text_id], validate=True))


def pack_vector(floats: bytes) -> str:
    """Pack a vector for `EmbedResult.vectors`, given as the bytes of its little-endian float32 values."""
    return base64.b64encode(floats).decode("ascii")
