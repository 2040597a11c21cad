"""The `embed` kind: embed texts, and return the vectors or write them to a table."""

import base64
import struct
from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field

from querymill_shared.contracts.fields import WITH_TEXT, Contract, Lane, Name, Request, not_blank, without_nul
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

    ``document`` is the id of the document that the text is a part of, in any retriever. Callers that cut documents must
    name it: the stored vector then goes when the document is forgotten. Without it, a vector goes only with a document
    that has the id of the text, or that holds the whole text as one of its own, such as a message or a page.
    """

    id: TextId
    text: EmbeddedText
    document: Name | None = None


def _ids_are_distinct(texts: tuple[TextToEmbed, ...]) -> tuple[TextToEmbed, ...]:
    if len({text.id for text in texts}) != len(texts):
        raise ValueError("every id must occur once")
    return texts


class EmbedTexts(Request, Asks["EmbedResult"]):
    """Embed texts for one side of a search, as questions ("query") or as searchable texts ("passage").

    With ``into="result"`` the vectors are returned. With ``into="table"`` they are stored in PostgreSQL
    (`text_vectors`, by collection, id and model), and texts that are stored unchanged are not embedded again. The job
    is durable: it has no deadline.
    """

    queue: ClassVar[Queue] = Queue.EMBED
    kind: Literal["embed"] = "embed"
    lane: Lane = Lane.BULK
    texts: Annotated[
        tuple[TextToEmbed, ...], Field(min_length=1, max_length=MAX_TEXTS), AfterValidator(_ids_are_distinct)
    ]
    input_type: Literal["query", "passage"] = "passage"
    into: Literal["result", "table"] = "result"
    deadline: None = None

    @property
    def steps(self) -> tuple[str, ...]:
        """Embedding is one step, which resumes after a failure."""
        return ("embed",)


class EmbedResult(JobResult):
    """The vectors, or how many were stored. ``total`` is the number of texts.

    With ``into="result"``, ``vectors`` maps each id to its packed vector: base64 of ``dimensions`` little-endian
    float32. `embedding` unpacks one. With ``into="table"``, ``written`` counts the rows written and ``unchanged`` the
    rows that were stored before, which includes those that a killed attempt of the same job wrote.
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
