"""HTML, and inline XBRL as the SEC has it: its pages where it breaks them, else the sections under its headings."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from lxml import etree, html

from querymill_reading.document import Document, Page, Remarks, Unreadable
from querymill_reading.formats.encodings import count_damaged, decoded_as
from querymill_reading.formats.html_elements import (
    BLOCKS,
    BREAK_AFTER,
    BREAK_BEFORE,
    COUNTED,
    LEFT_OUT,
    alternative,
    is_hidden,
    is_picture,
    is_played,
    labels_of,
    tag_of,
    texts_shown,
)
from querymill_reading.formats.html_properties import facts_in, filing_of, meta_in, said_in_filing, said_in_meta
from querymill_reading.formats.html_tables import captions_of, table_texts
from querymill_reading.formats.mathml import formula
from querymill_reading.formats.text import decoded
from querymill_reading.read_request import ReadRequest, proposals
from querymill_reading.rules.furniture import without_furniture
from querymill_reading.rules.layout import glued_on
from querymill_reading.rules.list_numbers import BULLET
from querymill_reading.rules.pictures import PICTURE, became
from querymill_reading.rules.proposals import merged
from querymill_reading.rules.sections import SectionPart, sections

#: What is read of a table whether it is hidden or not.
_ROWS: Final = ("tr", "tbody", "thead", "tfoot")
_HEADINGS: Final = {f"h{level}": level for level in range(1, 7)}
_CHARSET: Final = re.compile(
    rb"<meta[^>]+charset=[\"']?([A-Za-z0-9_-]+)|<\?xml[^>]+encoding=[\"']([A-Za-z0-9_-]+)", re.I
)
_ITEM: Final = re.compile(r"(?:PART\s+[IVX]+|ITEM\s+\d{1,2}[A-C]?\.?)(?:[\s.:–—-].{0,150})?", re.I)
#: Nesting that is followed.
MAX_DEPTH: Final = 250
_MARKS: Final = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
_PAGE_BREAK: Final = SectionPart("\f")


def read(asked: ReadRequest) -> Document:
    """See `Format.read`."""
    remarks = Remarks()
    root = parsed(asked.path.read_bytes(), remarks)
    facts, about, own = {}, {}, ""
    walk = Walk(remarks)
    parts = walk.parts(root)
    walk.note_left_out()
    pages = pages_of(parts)
    heading = next((part.text for part in parts if part.level == 1), "")
    said: list[dict[str, str]] = []
    with remarks.part("properties"):
        facts, about = facts_in(root), meta_in(root)
        own = "".join(root.xpath("//head/title//text()")[:3]).strip() if root.tag == "html" else ""
        said = [said_in_meta(about), said_in_filing(facts)]
    proposed = proposals(remarks, asked.name, [page.text for page in pages[:3]], title=own, heading=heading)
    metadata = {name: about[name] for name in ("author", "description", "keywords", "lang") if about.get(name)}
    return Document("html", pages, merged(proposed, *said), metadata | filing_of(facts), remarks.noted)


def parsed(raw: bytes, remarks: Remarks | None = None, *, label: str = "") -> Any:
    """Parse HTML of any quality. ``label`` names its encoding, if what brought it says so.

    Raises:
        Unreadable: There is nothing in it.
    """
    text = _text_of(raw, label, remarks)
    text = re.sub(r"^\s*<\?xml[^>]*\?>", "", text.replace("\x00", " "))
    try:
        # huge_tree stays off: it is what refuses trees that are nested without end.
        root = html.document_fromstring(
            text, parser=html.HTMLParser(no_network=True, remove_comments=True, remove_pis=True)
        )
    except (etree.LxmlError, ValueError) as error:
        raise Unreadable(f"cannot be parsed as HTML: {str(error)[:200]}") from error
    return root


def _text_of(raw: bytes, label: str, remarks: Remarks | None) -> str:
    """Return HTML as text: by its mark, by the label that it was given or gives itself, else by its letters."""
    named = _CHARSET.search(raw[:4_096])
    own = (named[1] or named[2]).decode() if named else ""
    if not raw.startswith(_MARKS):
        for said in filter(None, (label, own)):
            if (text := decoded_as(raw, said)) is not None:
                if remarks is not None:
                    remarks.count(count_damaged(raw, text), "letter", "damaged, shown as \ufffd")
                return text
    return decoded(raw, remarks, otherwise="cp1252")  # as browsers do


def pages_of(parts: Sequence[SectionPart]) -> list[Page]:
    """Return the pages where the document breaks them, without what repeats on them, else its sections."""
    sheets: list[list[str]] = [[]]
    for part in parts:
        if part is _PAGE_BREAK:
            sheets.append([])
        else:
            sheets[-1].append(part.text)
    filled = [sheet for sheet in sheets if sheet]
    if len(filled) < 3:
        kept = [part for part in parts if part is not _PAGE_BREAK]
        return [Page(number, section) for number, section in enumerate(sections(kept), 1)]
    cleaned = without_furniture(filled)
    return [
        Page(number, "\n\n".join(sheet[at] for at in clean.kept), clean.label if clean.label != str(number) else "")
        for number, (sheet, clean) in enumerate(zip(filled, cleaned, strict=True), 1)
    ]


@dataclass(slots=True)
class Walk:
    """Walks through a document and gathers its paragraphs, headings, tables and page breaks.

    A table or a formula that cannot be read is a remark.
    """

    remarks: Remarks
    done: list[SectionPart] = field(default_factory=list)
    held: list[str] = field(default_factory=list)
    level: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    left: Counter[str] = field(default_factory=Counter)
    labels: dict[Any, str] = field(default_factory=dict)
    pending: str = ""
    reads_navigation: bool = True
    left_out: frozenset[str] = LEFT_OUT

    def parts(self, root: Any) -> list[SectionPart]:
        """Return the parts of a document, in order; its navigation if there is nothing else in it."""
        self._element(root, 0)
        self._flush()
        has_text = any(part is not _PAGE_BREAK for part in self.done)
        if self.reads_navigation and not has_text and self.left.pop(COUNTED["nav"], 0):
            self.left.clear()
            self.counts.clear()
            self.left_out -= {"nav"}
            self._element(root, 0)
            self._flush()
        return self.done

    def _element(self, element: Any, depth: int) -> None:
        tag, style = tag_of(element), element.get("style") or ""
        if depth > MAX_DEPTH or tag in self.left_out or is_hidden(element):
            self._leave_out(element, tag, depth)
            return
        is_block = tag in BLOCKS
        if is_block:
            self._flush()
        if BREAK_BEFORE.search(style):
            self._break()
        self._content(element, tag, depth)
        if is_block:
            self._flush()
        if BREAK_AFTER.search(style):
            self._break()

    def _leave_out(self, element: Any, tag: str, depth: int) -> None:
        """Count what has a text and is not shown, and what is shown and is no text."""
        if is_picture(element):
            self.left[PICTURE] += 1
            return
        if not is_played(element) and not any(text.strip() for text in texts_shown(element)):
            return
        if depth > MAX_DEPTH:
            self.left["part that is nested too deeply"] += 1
        elif tag in COUNTED or tag not in LEFT_OUT:
            self.left[COUNTED.get(tag, "hidden part")] += 1

    def note_left_out(self) -> None:
        """Add remarks about what was left out."""
        for one, number in self.left.items():
            texts = [part.text for part in self.done] if one == PICTURE else []
            for count, what in became(number, texts):
                self.remarks.count(count, one, what)

    def _content(self, element: Any, tag: str, depth: int) -> None:
        if tag == "table" and (written := self._table(element)) is not None:
            self.done.extend(SectionPart(text) for text in written)
        elif tag == "br":
            self.held.append("\n")
        elif tag == "img":
            self.held.append(alternative(element))
            self.left[PICTURE] += is_picture(element)
        elif tag == "math":
            self.counts[tag] += 1
            with self.remarks.part(f"formula {self.counts[tag]}"):
                self.held.append(formula(element))
        elif tag == "sup" and (sign := "".join(element.itertext()).strip()).isdecimal():
            self.held.append(glued_on("".join(self.held)[-20:], sign))
        elif tag == "pre":
            self.done.append(SectionPart("".join(texts_shown(element)).strip("\n")))
            self._count_within(element)
        else:
            self._inside(element, tag, depth)

    def _table(self, element: Any) -> list[str] | None:
        """Return the texts of a table, or None if its cells are to be read as paragraphs."""
        self.counts["table"] += 1
        with self.remarks.part(f"table {self.counts['table']}"):
            texts = table_texts(element)
            if texts is not None:
                self._count_within(element)
                return [*captions_of(element), *texts]
        return None

    def _count_within(self, element: Any) -> None:
        """Count what is left out below an element whose text is read at once."""
        for child in element:
            tag = tag_of(child)
            if tag == "img":
                self.left[PICTURE] += is_picture(child)
            elif tag in self.left_out or (is_hidden(child) and tag not in _ROWS):
                self._leave_out(child, tag, 0)
            elif tag:
                self.left["embedded object"] += tag == "embed" and is_played(child)
                self._count_within(child)

    def _inside(self, element: Any, tag: str, depth: int) -> None:
        if tag == "embed":  # it holds nothing, but the parser takes what follows for its own
            self.left[COUNTED[tag]] += is_played(element)
        before = self.level
        self.level = _HEADINGS.get(tag, before)
        self._begin_list(element, tag)
        if element.text:
            self.held.append(element.text)
        for child in element:
            if isinstance(child.tag, str):
                self._element(child, depth + 1)
            if child.tail:
                self.held.append(child.tail)
        if tag in _HEADINGS:
            self._flush()
        if tag == "li" and self.pending:
            self._flush()
            self.held.clear()  # an item without text
            self.pending = ""
        self.level = before

    def _begin_list(self, element: Any, tag: str) -> None:
        """Put the label of an item before it, and make those of a numbered list."""
        if tag == "ol":
            self.labels.update(labels_of(element))
        elif tag == "li":
            self.held.append(f"{self.labels.pop(element, BULLET)} ")
            self.pending = "".join(self.held).strip()

    def _flush(self) -> None:
        lines = [" ".join(line.split()) for line in "".join(self.held).split("\n")]
        text = "\n".join(line for line in lines if line)
        if text and text == self.pending:
            return  # the label of an item stands before the first paragraph in it
        self.held.clear()
        self.pending = ""
        if not text:
            return
        level = self.level
        if not level and len(text) < 200 and _ITEM.fullmatch(text):
            level = 2  # filings have no headings but these
        self.done.append(SectionPart(text.replace("\n", " ") if level else text, level))

    def _break(self) -> None:
        self._flush()
        if self.done and self.done[-1] is not _PAGE_BREAK:
            self.done.append(_PAGE_BREAK)
