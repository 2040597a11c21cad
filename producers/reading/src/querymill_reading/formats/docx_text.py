"""WordprocessingML: its paragraphs, rows and cells whatever is wrapped around them, and their text as it is shown."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Final

from docx.oxml.ns import qn

from querymill_reading.document import Remarks
from querymill_reading.rules.pictures import described, is_small, points
from querymill_reading.rules.symbols import UNKNOWN, sign_of, with_signs

PARAGRAPH, TABLE, ROW, CELL = qn("w:p"), qn("w:tbl"), qn("w:tr"), qn("w:tc")
#: A document of another format in the place of a paragraph.
CHUNK: Final = qn("w:altChunk")
_VALUE, _FONT, _CODE = qn("w:val"), qn("w:font"), qn("w:char")
_COMPATIBLE: Final = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_ALTERNATIVES, _FALLBACK = f"{_COMPATIBLE}AlternateContent", f"{_COMPATIBLE}Fallback"
_MATHS: Final = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
#: What stands before a part of a formula, and the signs of sums and integrals.
_BEFORE: Final = {f"{_MATHS}den": "/", f"{_MATHS}sup": "^", f"{_MATHS}sub": "_", f"{_MATHS}rad": "√"}
_SIGN, _BRACKETS, _MATHS_VALUE = f"{_MATHS}chr", f"{_MATHS}d", f"{_MATHS}val"
_TEXTS: Final = (qn("w:t"), f"{_MATHS}t", qn("a:t"))
_PARAGRAPHS: Final = (PARAGRAPH, qn("a:p"))
_BOX: Final = qn("w:txbxContent")
_WORD_ART: Final = "{urn:schemas-microsoft-com:vml}textpath"
_OLD_SHAPE: Final = "{urn:schemas-microsoft-com:vml}shape"
_OLD_SIDE: Final = re.compile(r"(?:^|[;\s])(width|height)\s*:\s*([0-9.]{1,8}[a-z]{0,2})")
_PICTURE, _OLD_PICTURE = qn("pic:pic"), "{urn:schemas-microsoft-com:vml}imagedata"
#: Around pictures that are not shown, or are the preview of what is embedded.
_OTHERWISE: Final = (_FALLBACK, qn("w:object"), qn("w:del"), qn("w:moveFrom"))
_ON, _OFF = ("1", "true"), ("0", "false", "off")
_OF_DRAWING: Final = qn("wp:docPr")
_DECORATIVE: Final = "{http://schemas.microsoft.com/office/drawing/2017/decorative}decorative"
#: Elements that stand for a sign.
_SIGNS: Final = {
    qn("w:tab"): "\t", qn("w:ptab"): "\t", qn("w:br"): "\n", qn("w:cr"): "\n", qn("w:noBreakHyphen"): "-",
    qn("a:br"): "\n",
}  # fmt: skip
#: What is not shown: what was deleted or moved elsewhere, how a word is pronounced, and properties.
_LEFT_OUT: Final = frozenset(
    qn(name)
    for name in (
        "w:del",
        "w:moveFrom",
        "w:rt",
        "w:pPr",
        "w:rPr",
        "w:sdtPr",
        "w:sdtEndPr",
        "w:tblPr",
        "w:tcPr",
        "w:trPr",
    )
)
#: Marks of a row or a cell that was deleted.
_DELETED: Final = {ROW: f"{qn('w:trPr')}/{qn('w:del')}", CELL: f"{qn('w:tcPr')}/{qn('w:cellDel')}"}
_REVISIONS: Final = (
    ("w:del", "w:delText", "tracked deletion", "left out"),
    ("w:moveFrom", "w:t", "moved piece", "read where it was moved to"),
    ("w:ins", "w:t", "tracked insertion", "read as text"),
)


def within(element: Any, wanted: Collection[str]) -> Iterator[Any]:
    """Yield what is below an element, whatever stands around it: insertions, content controls, tags, custom XML.

    What was deleted or moved elsewhere is passed over, and so is what is inside of what is wanted.
    """
    held = list(reversed(element))
    while held:
        each = held.pop()
        if each.tag in wanted:
            if (mark := _DELETED.get(each.tag)) is None or each.find(mark) is None:
                yield each
        elif each.tag == _ALTERNATIVES:
            held.extend(reversed(_chosen(each)))
        elif each.tag not in _LEFT_OUT:
            held.extend(reversed(each))


def paragraphs_of(element: Any) -> Iterator[Any]:
    """Yield the paragraphs below an element, those in tables too."""
    for block in within(element, (PARAGRAPH, TABLE)):
        if block.tag == PARAGRAPH:
            yield block
        else:
            for row in within(block, (ROW,)):
                for cell in within(row, (CELL,)):
                    yield from paragraphs_of(cell)


def text_of(paragraph: Any) -> str:
    """Return the text of a paragraph as it is shown: what was deleted is not."""
    pieces: list[str] = []
    held: list[Any] = [paragraph]
    while held:
        element = held.pop()
        if isinstance(element, str):
            pieces.append(element)
        elif element.tag == _ALTERNATIVES:
            held.extend(reversed(_chosen(element)))
        elif element.tag not in _LEFT_OUT:
            before, after = _around(element, is_first=not pieces)
            pieces.append(before)
            held.extend([after, *reversed(list(element))])
    return "".join(pieces)


def _chosen(alternatives: Any) -> list[Any]:
    """Return the first of several forms of the same thing that has a text, else the first."""
    forms = list(alternatives)
    return [next((form for form in forms if _has_text(form)), forms[0])] if forms else []


def _has_text(element: Any) -> bool:
    return any(next(element.iter(tag), None) is not None for tag in _TEXTS)


def _around(element: Any, *, is_first: bool) -> tuple[str, str]:
    """Return what stands before and after what is in an element; a text is what stands before nothing."""
    tag = element.tag
    if tag in _TEXTS:
        text = with_signs(element.text or "", _font_of(element))
        return (text.upper() if _is_in_capitals(element) else text), ""
    if tag in _PARAGRAPHS:
        return "" if is_first else "\n", ""
    if tag == _BOX:
        return "", "\n"
    if tag == _BRACKETS:
        begin, end = (element.find(f"{_MATHS}dPr/{_MATHS}{name}Chr") for name in ("beg", "end"))
        opens = "(" if begin is None else begin.get(_MATHS_VALUE) or ""
        return opens, ")" if end is None else end.get(_MATHS_VALUE) or ""
    if tag in _BEFORE:
        return _BEFORE[tag] if next(element.iter(f"{_MATHS}t"), None) is not None else "", ""
    if tag == _SIGN:
        return element.get(_MATHS_VALUE) or "", ""
    return (_OTHERS[tag](element) if tag in _OTHERS else _SIGNS.get(tag, "")), ""


def _font_of(text: Any) -> str:
    run = text.getparent()
    fonts = run.find(f"{qn('w:rPr')}/{qn('w:rFonts')}") if run is not None else None
    return (fonts.get(qn("w:ascii")) or fonts.get(qn("w:hAnsi")) or "") if fonts is not None else ""


def _is_in_capitals(text: Any) -> bool:
    run = text.getparent()
    switch = run.find(f"{qn('w:rPr')}/{qn('w:caps')}") if run is not None else None
    return switch is not None and (switch.get(_VALUE) or "1") not in _OFF


def _symbol(element: Any) -> str:
    written = element.get(_CODE) or ""
    try:
        return sign_of(int(written, 16), element.get(_FONT) or "")
    except ValueError:
        return UNKNOWN


def _field(properties: Any) -> str:
    """Return what a field of a form shows that no text says: whether a box is ticked, and what was chosen."""
    box = properties.find(qn("w:checkBox"))
    if box is not None:
        state = box.find(qn("w:checked"))
        state = box.find(qn("w:default")) if state is None else state
        is_ticked = state is not None and (state.get(_VALUE) or "1") not in _OFF
        return "[x]" if is_ticked else "[ ]"
    choices = properties.find(qn("w:ddList"))
    if choices is not None:
        entries = [entry.get(_VALUE) or "" for entry in choices.iterchildren(qn("w:listEntry"))]
        result = choices.find(qn("w:result"))
        chosen = (result.get(_VALUE) or "0") if result is not None else "0"
        return entries[int(chosen)] if chosen.isdecimal() and int(chosen) < len(entries) else ""
    return ""


def _picture(properties: Any) -> str:
    """Return the description of what is drawn; of a picture in a group, if that of the group is another."""
    text = _in_text(properties.get("descr") or properties.get("title"))
    if properties.tag == _OF_DRAWING:
        return "" if any(each.get("val") in _ON for each in properties.iter(_DECORATIVE)) else text
    drawing = next(properties.iterancestors(qn("w:drawing")), None)
    whole = next(drawing.iter(_OF_DRAWING), None) if drawing is not None else None
    return text if whole is not None and _in_text(whole.get("descr") or whole.get("title")) != text else ""


def _in_text(written: str | None) -> str:
    text = described(written)
    return f"{text} " if text else ""


_OTHERS: Final[Mapping[str, Callable[[Any], str]]] = {
    qn("w:sym"): _symbol,
    qn("w:footnoteReference"): lambda element: element.text or "",
    qn("w:endnoteReference"): lambda element: element.text or "",
    qn("w:ffData"): _field,
    _WORD_ART: lambda element: f"{element.get('string') or ''}\n",
    _OF_DRAWING: _picture,
    qn("pic:cNvPr"): _picture,
    _OLD_SHAPE: lambda element: _in_text(element.get("alt")),
}


def note_left_out(body: Any, remarks: Remarks) -> None:
    """Count what a text shows otherwise than its file has it: tracked changes, hidden text, readings and symbols."""
    for tag, text, one, what in _REVISIONS:
        remarks.count(sum(_contains(each, qn(text)) for each in body.iter(qn(tag))), one, what)
    rows = sum(each.find(mark) is not None for tag, mark in _DELETED.items() for each in body.iter(tag))
    remarks.count(rows, "row or cell", "left out: deleted as a tracked change")
    hidden = sum(
        _is_on(each) and _contains(each.getparent().getparent(), qn("w:t")) for each in body.iter(qn("w:vanish"))
    )
    remarks.count(hidden, "hidden piece of text", "read all the same")
    remarks.count(sum(1 for _ in body.iter(qn("w:rt"))), "reading of a word (ruby)", "left out")
    unknown = sum(_symbol(each) == UNKNOWN for each in body.iter(qn("w:sym")))
    remarks.count(unknown, "symbol", f"of a font that is not known, shown as {UNKNOWN}")
    loose = sum(next(text.iterancestors(*_PARAGRAPHS), None) is None for text in body.iter(*_TEXTS))
    remarks.count(loose, "piece of text in no paragraph", "left out")
    unread = sum(next(each.iterancestors(CELL, PARAGRAPH), None) is not None for each in body.iter(CHUNK))
    remarks.count(unread, "embedded document in a table", "left out")


def _contains(element: Any, tag: str) -> bool:
    return element is not None and next(element.iter(tag), None) is not None


def _is_on(switch: Any) -> bool:
    above = switch.getparent().getparent()
    return above is not None and above.tag == qn("w:r") and (switch.get(_VALUE) or "1") not in _OFF


def count_pictures(root: Any) -> int:
    """Return how many pictures are drawn below an element: none that is a preview, a decoration or a dot."""
    found = root.iter(_PICTURE, _OLD_PICTURE)
    return sum(next(each.iterancestors(*_OTHERWISE), None) is None and not _is_decoration(each) for each in found)


def _is_decoration(picture: Any) -> bool:
    if picture.tag == _OLD_PICTURE:
        styled = dict(_OLD_SIDE.findall(picture.getparent().get("style") or ""))
        return is_small(*(points(styled.get(name)) for name in ("width", "height")))
    drawn = next(picture.iterancestors(qn("wp:inline"), qn("wp:anchor")), None)
    if drawn is None:
        return False
    extent = drawn.find(qn("wp:extent"))
    is_dot = extent is not None and is_small(*(points(extent.get(name), "emu") for name in ("cx", "cy")))
    return is_dot or any(each.get("val") in _ON for each in drawn.iterfind(f"{_OF_DRAWING}//{_DECORATIVE}"))
