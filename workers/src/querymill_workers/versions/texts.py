"""What `versions` knows texts by that belong to no document: `embed` stores vectors of any texts, under any ids."""

import hashlib
from typing import Final

from querymill_shared.contracts.embed import TextToEmbed

#: In place of a retriever.
KIND: Final = "texts"


def keys_of(text: TextToEmbed) -> list[str]:
    """Return what a text is known by: its id, the text itself, and the id of the document that it is a part of."""
    return [key_of_id(text.id), key_of_text(text.text), *([] if text.document is None else [key_of_id(text.document)])]


def key_of_id(text_id: str) -> str:
    """Return what stands for the text of an id, and for the parts of a document of that id."""
    return f"id {text_id}"


def key_of_text(text: str) -> str:
    """Return what stands for a text whatever its id."""
    return f"text {hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"
