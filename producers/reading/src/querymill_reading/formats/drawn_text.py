"""DrawingML, which slides and drawings are written in: the text of its paragraphs as it is shown."""

from collections.abc import Iterator
from typing import Any, Final

from querymill_reading.rules.symbols import with_signs

_DRAWING: Final = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_PARAGRAPH, _TEXT, _BREAK, _TAB = (f"{_DRAWING}{name}" for name in ("p", "t", "br", "tab"))
_MATHS_TEXT: Final = "{http://schemas.openxmlformats.org/officeDocument/2006/math}t"
_FALLBACK: Final = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_PROPERTIES: Final = f"{_DRAWING}rPr"


def text_in(element: Any) -> str:
    """Return the paragraphs in an element, a line each; formulas and fields are part of them."""
    return "\n".join("".join(_pieces(paragraph)) for paragraph in element.iter(_PARAGRAPH))


def _pieces(paragraph: Any) -> Iterator[str]:
    held = list(reversed(paragraph))
    while held:
        element = held.pop()
        if element.tag in (_TEXT, _MATHS_TEXT):
            yield with_signs(element.text or "", _font_of(element))
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


def comments_in(root: Any) -> Iterator[str]:
    """Yield the comments on a slide, in the form of before and after 2021."""
    for comment in root.iter("{*}cm", "{*}reply"):
        own = comment.iterchildren("{*}text", "{*}txBody")
        text = " ".join(" ".join("".join(each.itertext()).split()) for each in own)
        if text:
            yield f"Comment: {text}"
