"""CSV and TSV: one table; long ones are cut into pages that repeat the names of the columns."""

from collections import Counter
from pathlib import PurePath

from querymill_reading.document import Document, Page, Remarks, Unreadable
from querymill_reading.formats.text import decoded
from querymill_reading.read_request import ReadRequest, proposals
from querymill_reading.rules.beginnings import LOOKED_AT, looks_like_text
from querymill_reading.rules.separated import rows_in
from querymill_reading.rules.sheets import record_pages


def read(asked: ReadRequest) -> Document:
    """See `Format.read`."""
    raw = asked.path.read_bytes()
    if not looks_like_text(raw[:LOOKED_AT]):
        raise Unreadable("not a text")
    remarks = Remarks()
    text = decoded(raw, remarks)
    rows = rows_in(text)
    widths = Counter(len(row) for row in rows if any(row))
    usual = widths.most_common(1)[0][0] if widths else 0
    remarks.count(
        sum(count for width, count in widths.items() if width > usual), "row", "has more values than the others"
    )
    asked.on_page(1)
    name = PurePath(asked.name).stem
    pages = [Page(number, page) for number, page in enumerate(record_pages(name, rows), 1)]
    return Document("csv", pages, proposals(remarks, asked.name, []), remarks=remarks.noted)
