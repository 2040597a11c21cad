"""Ids of code documents: how they sort, and how they are written as text."""

import json
import re
from typing import Final

#: A document's ``faiss_id`` if it is not None, else its ``file_path``.
DocumentId = int | str

#: A path that reads like a number, or like a path in quotes, is written in quotes.
_AMBIGUOUS: Final = re.compile(r'-?[0-9]+|".*', re.ASCII | re.DOTALL)


def order_of(document: DocumentId) -> tuple[bool, int, str]:
    """Return the sort key of a document id: numbers first, by value, then paths."""
    return (False, document, "") if isinstance(document, int) else (True, 0, document)


def encode_id(document: DocumentId) -> str:
    """Write a document id as JSON text, so that the number 0 and the path "0" differ."""
    return json.dumps(document, ensure_ascii=False)


def decode_id(text: str) -> DocumentId:
    """Read a document id that `encode_id` wrote."""
    document: DocumentId = json.loads(text)
    return document


def shown_id(document: DocumentId) -> str:
    """Write a document id as people give it: the digits of a number, or a path, in quotes if it reads like a number."""
    if isinstance(document, int):
        return str(document)
    return encode_id(document) if _AMBIGUOUS.fullmatch(document) else document


def read_id(text: str) -> DocumentId:
    """Read a document id that `shown_id` wrote. Any other text is a path."""
    if _AMBIGUOUS.fullmatch(text):
        try:
            return decode_id(text)
        except ValueError:
            return text
    return text
