"""JSON: lists of like objects as tables, other values as lines under the names that they stand below."""

import json

from querymill_reading.document import Document, Page, Remarks, Unreadable
from querymill_reading.formats.text import decoded
from querymill_reading.read_request import ReadRequest, proposals
from querymill_reading.rules.nested import of_root
from querymill_reading.rules.sections import sections


def read(asked: ReadRequest) -> Document:
    """See `Format.read`."""
    remarks = Remarks()
    text = decoded(asked.path.read_bytes(), remarks)
    try:
        value = json.loads(text, parse_float=str, parse_int=str)
    except ValueError as error:
        raise Unreadable(f"broken JSON: {error}") from error
    parts = list(of_root(value))
    pages = [Page(number, section) for number, section in enumerate(sections(parts), 1)]
    own = value.get("title") or value.get("name") if isinstance(value, dict) else ""
    proposed = proposals(
        remarks, asked.name, [page.text for page in pages[:3]], title=own if isinstance(own, str) else ""
    )
    return Document("json", pages, proposed, remarks=remarks.noted)
