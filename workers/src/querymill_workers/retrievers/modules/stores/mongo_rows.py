"""Convert code documents to MongoDB records and back."""

import json
import zlib
from collections.abc import Sequence
from typing import Any, Final

from querymill_shared.contracts.modules.ingest import ModuleDocument
from querymill_workers.jobs.revisions import Revision
from querymill_workers.retrievers.modules.rules.documents import DocumentId
from querymill_workers.retrievers.modules.rules.names import Match
from querymill_workers.retrievers.modules.rules.scores import DocumentSummary
from querymill_workers.retrievers.modules.stores.postings import exact_reversals, reversals, suffix_range

#: The postings of a name are spread over this many records. Fewer are quicker to read, more are quicker to change.
BUCKETS: Final = 16

Row = dict[str, Any]


def row_id(collection: str, document: DocumentId) -> str:
    """Return the id of a document's records. In JSON the number 0 and the path "0" differ."""
    return f"{collection}/{json.dumps(document)}"


def posting_id(collection: str, reverse: str, bucket: int) -> str:
    """Return the id of the record that holds one bucket of a name's documents."""
    return f"{collection}/{reverse}/{bucket}"


def bucket_of(document: DocumentId) -> int:
    """Return the bucket of a document. It is the same in the postings of every name."""
    return zlib.crc32(json.dumps(document).encode()) % BUCKETS


def document_row(collection: str, document: ModuleDocument, revision: Revision, record: str) -> Row:
    """Build the record that scoring reads, under the name ``record``.

    ``posted`` holds the reversals whose postings may name the document.
    """
    return {
        "_id": row_id(collection, document.document),
        "collection": collection,
        "document": document.document,
        "names": list(document.meta_info.vtkjs_modules),
        "description": document.meta_info.description,
        "posted": sorted(reversals(document)),
        "revision": revision,
        "record": record,
    }


def code_row(collection: str, document: ModuleDocument, record: str) -> Row:
    """Build the record of the whole document. It is stored as text, because its metadata may look like operators."""
    return {
        "_id": row_id(collection, document.document),
        "collection": collection,
        "document": document.document,
        "json": document.model_dump_json(),
        "record": record,
    }


def summary_of(document: DocumentId, version: Row) -> DocumentSummary:
    """Read a version of a record that `document_row` built."""
    return DocumentSummary(document, tuple(version["names"]), version["description"])


def recall_filter(collection: str, keys: Sequence[str], *, match: Match) -> Row:
    """Build the query for postings: the exact names of several modules, or the range of suffixes of one."""
    if match == "exact":
        return {"collection": collection, "reversed": {"$in": [name for key in keys for name in exact_reversals(key)]}}
    (key,) = keys
    first, end = suffix_range(key)
    return {"collection": collection, "reversed": {"$gte": first, "$lt": end}}
