"""RTF: its text in sections; tables are rows with a bar between their cells."""

import re
from itertools import groupby
from typing import Final

from striprtf.striprtf import rtf_to_text

from querymill_reading.document import Document, Page, Remarks
from querymill_reading.formats.encodings import codec_of
from querymill_reading.read_request import ReadRequest, proposals
from querymill_reading.rules.grids import grid_table
from querymill_reading.rules.sections import packed

_CODE_PAGE: Final = re.compile(rb"\\ansicpg(\d+)")
#: Text that stands apart, which the engine leaves out: footnotes and text boxes.
_SET_APART: Final = re.compile(r"\{(?:\\\*)?\\(?:footnote|shptxt)\b ?")
#: The number of an item, as it is written for programs that know no lists.
_LABEL: Final = re.compile(r"\{\\(?:listtext|pntext)\b ?")
_HIDDEN: Final = re.compile(r"\\v1?(?![a-zA-Z0-9])")
#: The list of styles, which is no text.
_STYLES: Final = re.compile(r"\{\\stylesheet(?:[^{}]|\{[^{}]*\})*\}")
#: Bytes of a picture that follow as they are: after this word with their number, or with a blank and none.
_RAW: Final = re.compile(r"\\bin(\d+) ?")
_RAW_WITHOUT_NUMBER: Final = re.compile(r"\\bin(?![a-z\d-])")
#: The mark of a group that may be passed over. Anywhere else than at the beginning of a group it says nothing.
_MARK: Final = re.compile(r"(\{\s*\\\*|\\[\\{}])|\\\*")
_DELETED: Final = re.compile(r"\{\\deleted\b(?!0)[^{}]*\}")
_TITLE: Final = re.compile(r"\{\\title\s([^{}\\]{1,300})\}")
_BLANK_LINES: Final = re.compile(r"\n[ \t]*(?:\n[ \t]*)+")
#: Parts that are no text of the document, by the word that begins them.
_LEFT_OUT: Final = {
    "embedded file": re.compile(r"\\objdata\b"),
    "header or footer": re.compile(r"\\(?:header|footer)[lrf]?\b"),
    "tracked deletion": _DELETED,
}


def read(asked: ReadRequest) -> Document:
    """See `Format.read`."""
    remarks = Remarks()
    written = asked.path.read_bytes().decode("latin-1")
    title = ""
    with remarks.part("properties"):
        found = _TITLE.search(written)
        title = text_of_rtf(f"{{\\rtf1 {found[1]}}}").strip() if found else ""
    text = text_of_rtf(written)
    for one, mark in _LEFT_OUT.items():
        remarks.count(len(mark.findall(written)), one, "left out")
    remarks.count(len(_HIDDEN.findall(_STYLES.sub("", written))), "hidden piece of text", "read all the same")
    remarks.count(text.count("\ufffd"), "letter", "damaged, shown as \ufffd")
    groups = packed(_BLANK_LINES.split(with_tables(text)))
    pages = [Page(number, "\n\n".join(group)) for number, group in enumerate(groups, 1)]
    proposed = proposals(remarks, asked.name, [page.text for page in pages[:3]], title=title)
    return Document("rtf", pages, proposed, remarks=remarks.noted)


def with_tables(text: str) -> str:
    """Return a text whose rows, lines that end with a bar, are tables."""
    written: list[str] = []
    for is_row, group in groupby(text.replace("\u2011", "-").split("\n"), key=lambda line: line.rstrip().endswith("|")):
        lines = list(group)
        table = grid_table([line.rstrip()[:-1].split("|") for line in lines]) if is_row else None
        if not is_row:
            written.extend(lines)
        elif table is not None:
            written.extend(["", table.markdown(), ""])
    return "\n".join(written)


def text_of_rtf(written: str, *, otherwise: str = "") -> str:
    """Return the text of RTF, whose bytes are given as letters of Latin-1; ``otherwise`` if it names no encoding."""
    page = _CODE_PAGE.search(written.encode("latin-1", "replace"))
    if page is None:
        return _plain(_shown(written), codec_of(otherwise) or otherwise or "cp1252")
    number = page[1].decode()
    return _plain(_shown(written), codec_of(f"windows-{number}") or f"cp{number}")


def _shown(written: str) -> str:
    """Return RTF without what is not shown, and with what the engine leaves out."""
    shown = _DELETED.sub("", _SET_APART.sub(r"{\\line ", _without_bytes(written)))
    return _MARK.sub(lambda mark: mark[1] or "", _LABEL.sub("{", shown))


def _without_bytes(written: str) -> str:
    """Return RTF without bytes that stand for themselves, in which braces and backslashes mean nothing."""
    kept: list[str] = []
    at = 0
    while (found := _RAW.search(written, at)) is not None:
        kept.append(written[at : found.start()])
        at = min(found.end() + int(found[1][:9]), len(written))
    kept.append(written[at:])
    return _RAW_WITHOUT_NUMBER.sub("", "".join(kept))


def _plain(written: str, codec: str) -> str:
    try:
        return str(rtf_to_text(written, encoding=codec, errors="replace"))  # type: ignore[no-untyped-call]
    except LookupError:
        return str(rtf_to_text(written, encoding="cp1252", errors="replace"))  # type: ignore[no-untyped-call]
