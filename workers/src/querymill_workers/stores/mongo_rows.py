"""How a code document becomes records of MongoDB, and a record a document again."""

import json
import zlib
from typing import Any, Final

from querymill_shared.contracts.modules import ModuleDocument
from querymill_workers.domain.module_scores import ModuleCard
from querymill_workers.domain.modules import DocumentId, last_segment, reversal
from querymill_workers.ports import Revision

#: Postings of a name are spread over this many records: fewer are read quicker, more are rewritten quicker.
BUCKETS: Final = 16

Row = dict[str, Any]


def row_id(collection: str, document: DocumentId) -> str:
    """Name a document's records. JSON keeps the number 0 and the path "0" apart."""
    return f"{collection}/{json.dumps(document)}"


def posting_id(collection: str, reverse: str, bucket: int) -> str:
    """Name the record that holds one bucket of a name's documents."""
    return f"{collection}/{reverse}/{bucket}"


def bucket_of(document: DocumentId) -> int:
    """Choose the bucket of a document, in every name's postings the same."""
    return zlib.crc32(json.dumps(document).encode()) % BUCKETS


def reversals(document: ModuleDocument) -> dict[str, str]:
    """Map each name's reversal, which tells names apart, to the name."""
    return {reversal(name): last_segment(name) for name in document.meta_info.vtkjs_modules}


def document_row(collection: str, document: ModuleDocument, revision: Revision) -> Row:
    """Write what scoring reads; ``posted`` are the names whose postings may hold the document."""
    return {
        "_id": row_id(collection, document.document),
        "collection": collection,
        "document": document.document,
        "names": list(document.meta_info.vtkjs_modules),
        "description": document.meta_info.description,
        "posted": sorted(reversals(document)),
        "revision": revision,
    }


def code_row(collection: str, document: ModuleDocument) -> Row:
    """Write the whole document, as text: what it brings along may look like operators."""
    return {
        "_id": row_id(collection, document.document),
        "collection": collection,
        "document": document.document,
        "json": document.model_dump_json(),
    }


def card_of(row: Row) -> ModuleCard:
    """Read what `document_row` wrote."""
    return ModuleCard(row["document"], tuple(row["names"]), row["description"])
