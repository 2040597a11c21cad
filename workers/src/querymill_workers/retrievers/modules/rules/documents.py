"""Ids of code documents: how they sort, and how they are written as text."""

import json

#: A document's ``faiss_id`` if it is not None, else its ``file_path``.
DocumentId = int | str


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
