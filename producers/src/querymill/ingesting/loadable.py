"""What a client must know of a kind to ingest its documents."""

from dataclasses import dataclass
from typing import Any

from querymill.ingesting.jsonl import Lines


@dataclass(frozen=True, slots=True)
class Loadable:
    """How the documents of a kind are ingested.

    Attributes:
        name: The kind.
        documents: How documents are read from JSON lines.
        reads_documents: Whether it takes PDF, HTML and other files of `querymill_reading`.
        reads_histories: Whether it takes the files of `querymill_histories`.
        reads_code_bases: Whether it takes the directories of `querymill.code_bases`.
    """

    name: str
    documents: Lines[Any]
    reads_documents: bool = False
    reads_histories: bool = False
    reads_code_bases: bool = False
