"""The `embed` kind: texts in, their vectors out, or into the rows of a table."""

import base64
import struct
from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field

from querymill_shared.contracts.fields import Contract, Lane, Name, Request, not_blank, without_nul
from querymill_shared.contracts.results import Asks, JobResult
from querymill_shared.queues import Queue

#: Most texts in one job: its vectors travel in one result.
MOST_TEXTS = 512
#: Longest text, in characters: what the longest-reading embedding models take (8,191 tokens) and a little more.
LONGEST_TEXT = 32_000

TextId = Name
#: NUL, which extracted text may hold and a provider may choke on, becomes a blank.
EmbeddedText = Annotated[
    str, Field(max_length=LONGEST_TEXT), AfterValidator(without_nul), AfterValidator(not_blank)
]  # fmt: skip


class TextToEmbed(Contract):
    """A text, and the id that its vector is filed under."""

    id: TextId
    text: EmbeddedText


def _ids_are_distinct(texts: tuple[TextToEmbed, ...]) -> tuple[TextToEmbed, ...]:
    if len({text.id for text in texts}) != len(texts):
        raise ValueError("every id must occur once")
    return texts


class EmbedTexts(Request, Asks["EmbedResult"]):
    """Embed texts as one side of a search: what is asked ("query"), or what is found ("passage").

    ``into`` "result" returns the vectors; "table" files them in PostgreSQL (`text_vectors`, by collection, id
    and model), where a text that is there unchanged is not embedded again. Durable: it has no deadline.
    """

    queue: ClassVar[Queue] = Queue.EMBED
    kind: Literal["embed"] = "embed"
    lane: Lane = Lane.BULK
    texts: Annotated[
        tuple[TextToEmbed, ...], Field(min_length=1, max_length=MOST_TEXTS), AfterValidator(_ids_are_distinct)
    ]
    input_type: Literal["query", "passage"] = "passage"
    into: Literal["result", "table"] = "result"
    deadline: None = None

    @property
    def steps(self) -> tuple[str, ...]:
        """Embedding is one step, resumed where it was cut."""
        return ("embed",)


class EmbedResult(JobResult):
    """The vectors, or where they went. ``total`` counts the texts.

    ``vectors`` (into "result") maps each id to its vector, packed: base64 of ``dimensions`` little-endian
    float32; `embedding` unpacks one. Into "table", ``written`` counts the rows written, ``unchanged`` those that
    were there already, which after a kill includes what the attempt before had written.
    """

    kind: Literal["embed"] = "embed"
    model: str
    dimensions: int
    vectors: Mapping[str, str] = Field(default_factory=dict)
    written: int = 0
    unchanged: int = 0

    def embedding(self, text_id: str) -> tuple[float, ...]:
        """Unpack the vector of a text."""
        return struct.unpack(f"<{self.dimensions}f", base64.b64decode(self.vectors[text_id], validate=True))


def pack_vector(floats: bytes) -> str:
    """Pack a vector, given as the bytes of its little-endian float32, for `EmbedResult.vectors`."""
    return base64.b64encode(floats).decode("ascii")
