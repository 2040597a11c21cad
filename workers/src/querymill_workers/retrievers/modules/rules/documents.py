"""Ids of code documents: their order, and their form as text."""

import json

#: A document's ``faiss_id`` if it is not None, else its ``file_path``.
DocumentId = int | str


def order_of(document: DocumentId) -> tuple[bool, int, str]:
    """Order document ids: numbers by value, then paths."""
    return (False, document, "") if isinstance(document, int) else (True, 0, document)


def encode_id(document: DocumentId) -> str:
    """Write a document id as text that keeps the number 0 and the path "0" apart."""
    return json.dumps(document, ensure_ascii=False)


def decode_id(text: str) -> DocumentId:
    """Read what `encode_id` wrote."""
    document: DocumentId = json.loads(text)
    return document
