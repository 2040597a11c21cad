"""A document becomes a report: proposals, overridden by `metadata.csv`, overridden by what the caller gives."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

from querymill_reading.document import FIELDS, READING_VERSION, Document
from querymill_reading.rules.proposals import day_in, merged

#: Where a report was read from: metadata by which its file is found again.
SOURCE, ROOT, STAMP = "source", "source_root", "source_stamp"
#: Characters of metadata that a report takes over from its file; labels and remarks only if they fit.
MAX_OWN_CHARS: Final = 8_000
#: Remarks that a report keeps, and characters of each; they come before what else may take the place.
MAX_REMARKS: Final = 20
MAX_REMARK_CHARS: Final = 300
_ALIASES: Final = "aliases"


def report_of(document: Document, id_: str, given: Mapping[str, Any], about: Mapping[str, Any]) -> dict[str, Any]:
    """Make a report, as a line of JSON has it.

    ``given`` are fields that override the proposals; other names are metadata. Of aliases, several are separated by
    semicolons. ``about`` is metadata that says where the document is from.
    """
    fields = merged(document.proposed, {name: str(given[name]) for name in FIELDS if given.get(name)})
    fields["published_at"] = day_in(fields.get("published_at", "")) or fields.get("published_at", "")
    own = {name: value for name, value in given.items() if name not in FIELDS and name != _ALIASES and value}
    aliases = [alias.strip() for alias in str(given.get(_ALIASES) or "").split(";") if alias.strip()]
    pages = [{"page": page.number, "text": page.text} for page in document.pages]
    return {
        **_fitting(document.metadata),
        **_fitting(_notes(document)),
        **own,
        **about,
        "format": document.format,
        "sha1": id_,
        "title": fields.get("title") or id_,
        "company": fields.get("company") or None,
        "aliases": aliases,
        "period": fields.get("period") or None,
        "published_at": fields["published_at"] or None,
        "pages": pages,
    }


def asked_hash(given: Mapping[str, Any]) -> str:
    """Return a hash of the rules of reading and of the fields that were given, for stamps."""
    written = json.dumps([READING_VERSION, {name: given[name] for name in sorted(given)}], default=str)
    return hashlib.sha256(written.encode()).hexdigest()[:16]


def _notes(document: Document) -> dict[str, Any]:
    labels = {str(page.number): page.label for page in document.pages if page.label}
    remarks = [cut(str(remark)) for remark in document.remarks[:MAX_REMARKS]]
    if (more := len(document.remarks) - len(remarks)) > 0:
        remarks.append(f"and {more} more")
    return ({"remarks": remarks} if remarks else {}) | ({"page_labels": labels} if labels else {})


def cut(remark: str) -> str:
    """Return a remark that is short enough to be kept."""
    return remark if len(remark) <= MAX_REMARK_CHARS else f"{remark[: MAX_REMARK_CHARS - 2]} …"


_NOT_METADATA: Final = {"sha1", "pages", "format", _ALIASES, *FIELDS}


def _fitting(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata that is short enough, without names that mean something else."""
    fitting: dict[str, Any] = {}
    room = MAX_OWN_CHARS
    for name, value in metadata.items():
        size = len(json.dumps([name, value], default=str))
        if name not in _NOT_METADATA and size <= room:
            fitting[name] = value
            room -= size
    return fitting
