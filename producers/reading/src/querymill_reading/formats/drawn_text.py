"""DrawingML, which slides and drawings are written in: the text of its paragraphs as it is shown."""

import re
from collections.abc import Iterator
from typing import Any, Final

from querymill_reading.rules.list_numbers import ListCounter, ListLevel, whole
from querymill_reading.rules.symbols import with_signs

_DRAWING: Final = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_PARAGRAPH, _TEXT, _BREAK, _TAB = (f"{_DRAWING}{name}" for name in ("p", "t", "br", "tab"))
_MATHS_TEXT: Final = "{http://schemas.openxmlformats.org/officeDocument/2006/math}t"
_FALLBACK: Final = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_PROPERTIES: Final = f"{_DRAWING}rPr"
#: The names of numbers: their form, and what stands around them.
_LABEL: Final = re.compile(r"(?P<form>[a-zA-Z0-9]+?)(?P<around>ParenBoth|ParenR|Period|Minus|Plain|)")
_AROUND: Final = {"ParenBoth": ("(", ")"), "ParenR": ("", ")"), "Period": ("", "."), "Minus": ("-", "-")}
_FORMS: Final = {
    "alphaLc": "lowerLetterPlaces", "alphaUc": "upperLetterPlaces", "romanLc": "lowerRoman", "romanUc": "upperRoman",
    "arabicDb": "decimalFullWidth", "circleNumDb": "decimalEnclosedCircle", "circleNumWdWhite": "decimalEnclosedCircle",
    "circleNumWdBlack": "decimalEnclosedCircle", "ea1Chs": "chineseCounting", "ea1Cht": "chineseCounting",
    "ea1JpnKor": "chineseCounting", "ea1JpnChsDb": "chineseCounting",
}  # fmt: skip


def text_in(element: Any) -> str:
    """Return the paragraphs in an element, a line each; formulas, fields and the numbers of lists are part of them."""
    counter = ListCounter({})
    lines = []
    for paragraph in element.iter(_PARAGRAPH):
        text = "".join(_pieces(paragraph))
        label = _label_of(paragraph, counter) if text.strip() else ""
        lines.append(f"{label} {text}" if label else text)
    return "\n".join(lines)


def _label_of(paragraph: Any, counter: ListCounter) -> str:
    """Return the number of a paragraph that is numbered: items of one form that follow each other are counted."""
    properties = paragraph.find(f"{_DRAWING}pPr")
    level = whole(properties.get("lvl")) if properties is not None else 0
    numbered = properties.find(f"{_DRAWING}buAutoNum") if properties is not None else None
    found = _LABEL.fullmatch(numbered.get("type") or "") if numbered is not None else None
    if numbered is None or found is None:
        counter.end(level)
        return ""
    before, after = _AROUND.get(found["around"], ("", ""))
    asked = ListLevel(
        _FORMS.get(found["form"], "decimal"), f"{before}%{level + 1}{after}", whole(numbered.get("startAt"), 1)
    )
    if counter.levels.get(level) != asked:
        counter.end(level)
        counter.levels = {**counter.levels, level: asked}
    return counter.next_label(level)


def _pieces(paragraph: Any) -> Iterator[str]:
    held = list(reversed(paragraph))
    while held:
        element = held.pop()
        if element.tag in (_TEXT, _MATHS_TEXT):
            text = with_signs(element.text or "", _font_of(element))
            yield text.upper() if _is_in_capitals(element) else text
        elif element.tag == _BREAK:
            yield "\n"
        elif element.tag not in (_FALLBACK, _PROPERTIES, f"{_DRAWING}pPr"):
            held.extend(reversed(element))


def _font_of(text: Any) -> str:
    properties = text.getparent().find(_PROPERTIES)
    if properties is None:
        return ""
    fonts = (properties.find(f"{_DRAWING}{name}") for name in ("sym", "latin"))
    return next((font.get("typeface") or "" for font in fonts if font is not None), "")


def _is_in_capitals(text: Any) -> bool:
    properties = text.getparent().find(_PROPERTIES)
    return properties is not None and properties.get("cap") == "all"


def comments_in(root: Any) -> Iterator[str]:
    """Yield the comments on a slide, in the form of before and after 2021."""
    for comment in root.iter("{*}cm", "{*}reply"):
        own = comment.iterchildren("{*}text", "{*}txBody")
        text = " ".join(" ".join("".join(each.itertext()).split()) for each in own)
        if text:
            yield f"Comment: {text}"
