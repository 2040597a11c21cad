"""How a code document becomes records of MongoDB, and a record a document again."""

import json
import zlib
from collections.abc import Iterable, Sequence
from typing import Any, Final

from pymongo import UpdateOne

from querymill_shared.contracts.modules.ingest import ModuleDocument
from querymill_workers.jobs.revisions import Revision
from querymill_workers.retrievers.modules.rules.documents import DocumentId
from querymill_workers.retrievers.modules.rules.names import PREFIX, Match, last_segment, reversal
from querymill_workers.retrievers.modules.rules.scores import DocumentSummary, ModuleRecall

#: Postings of a name are spread over this many records: fewer are read quicker, more are rewritten quicker.
BUCKETS: Final = 16

#: Greater than every character of a name.
_END: Final = "\uffff"

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
    """Write what scoring reads; ``posted`` are the names whose postings may hold the document.

    It is there, but its change is not counted yet.
    """
    return {
        "_id": row_id(collection, document.document),
        "collection": collection,
        "document": document.document,
        "names": list(document.meta_info.vtkjs_modules),
        "description": document.meta_info.description,
        "posted": sorted(reversals(document)),
        "revision": revision,
        "uncounted": True,
    }


def mark_counted(row: Row) -> UpdateOne:
    """Note that the change of what `document_row` wrote is counted, unless another version took its place."""
    return UpdateOne({"_id": row["_id"], "revision": row["revision"]}, {"$unset": {"uncounted": ""}})


def code_row(collection: str, document: ModuleDocument) -> Row:
    """Write the whole document, as text: what it brings along may look like operators."""
    return {
        "_id": row_id(collection, document.document),
        "collection": collection,
        "document": document.document,
        "json": document.model_dump_json(),
    }


def summary_of(row: Row) -> DocumentSummary:
    """Read what `document_row` wrote."""
    return DocumentSummary(row["document"], tuple(row["names"]), row["description"])


def recall_filter(collection: str, keys: Sequence[str], *, match: Match) -> Row:
    """Say what is asked of the index of postings: the exact reversals of several modules, or the range of one."""
    if match == "exact":
        return {"collection": collection, "reversed": {"$in": [name for key in keys for name in _exact_reversals(key)]}}
    (key,) = keys
    return {"collection": collection, "reversed": {"$gte": reversal(key), "$lt": reversal(key) + _END}}


def recall_of(key: str, postings: Iterable[Row], *, match: Match) -> ModuleRecall:
    """Gather what postings, of this module and of others, say of one."""
    exactly: set[DocumentId] = set()
    by_suffix: set[DocumentId] = set()
    for row in postings:
        if row["reversed"] in _exact_reversals(key):
            exactly.update(row["documents"])
        elif match == "suffix" and row["reversed"].startswith(reversal(key)):
            by_suffix.update(row["documents"])
    return ModuleRecall(exactly=exactly, all=exactly | by_suffix)


def _exact_reversals(key: str) -> tuple[str, str]:
    """Reverse the two names that are the module itself: with and without ``vtk``."""
    return reversal(key), reversal(PREFIX + key)
