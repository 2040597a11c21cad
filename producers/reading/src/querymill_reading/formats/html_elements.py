"""HTML: what one element is, and what stands for it in a text: the number of an item, the description of a picture."""

import re
from collections.abc import Iterator
from typing import Any, Final

from querymill_reading.rules.list_numbers import BULLET, BY_SIGN, FORMS, shown, whole
from querymill_reading.rules.pictures import in_line

#: Elements whose text is no part of the page.
LEFT_OUT: Final = frozenset(
    [
        "script", "style", "template", "noscript", "nav", "head", "iframe", "object", "svg", "button", "select",
        "textarea", "ix:header", "ix:hidden", "rt", "rp", "rtc",
    ]
)  # fmt: skip
#: What is left out and counted, by the name that a remark gives it.
COUNTED: Final = {
    "nav": "navigation", "noscript": "text for browsers without scripts", "iframe": "embedded page",
    "object": "embedded object", "svg": "drawing with text", "select": "form field", "textarea": "form field",
    "rt": "reading of a word (ruby)",
}  # fmt: skip
#: Elements that begin a line of their own.
BLOCKS: Final = frozenset(
    [
        "address", "article", "aside", "blockquote", "body", "center", "dd", "div", "dl", "dt", "fieldset",
        "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "html", "li",
        "main", "ol", "p", "pre", "section", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "ul",
    ]
)  # fmt: skip

_HIDDEN: Final = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.I)
_LIST_STYLE: Final = re.compile(r"list-style(?:-type)?\s*:\s*([\w-]+)", re.I)
#: The styles of lists whose names are others than those of the forms.
_LIST_STYLES: Final = {
    "decimal-leading-zero": "decimalZero", "lower-alpha": "lowerLetterPlaces", "lower-latin": "lowerLetterPlaces",
    "upper-alpha": "upperLetterPlaces", "upper-latin": "upperLetterPlaces", "lower-roman": "lowerRoman",
    "upper-roman": "upperRoman", "lower-greek": "lowerGreek", "disc": "bullet", "circle": "bullet", "square": "bullet",
    "cjk-decimal": "ideographDigital", "simp-chinese-informal": "chineseCounting",
    "cjk-ideographic": "chineseCounting", "trad-chinese-informal": "chineseCounting",
    "japanese-informal": "chineseCounting",
}  # fmt: skip


def is_hidden(element: Any) -> bool:
    """Return whether an element is not shown."""
    return element.get("hidden") is not None or _HIDDEN.search(element.get("style") or "") is not None


def tag_of(element: Any) -> str:
    """Return the name of an element in small letters."""
    return element.tag.lower() if isinstance(element.tag, str) else ""


def labels_of(numbered: Any) -> Iterator[tuple[Any, str]]:
    """Yield each item of a numbered list with its number, in the form of the list, or with a bullet."""
    items = [each for each in numbered if tag_of(each) == "li"]
    is_back = numbered.get("reversed") is not None
    number = whole(numbered.get("start"), len(items) if is_back else 1)
    form = _form(numbered) or BY_SIGN.get((numbered.get("type") or "1").strip(), "decimal")
    for item in items:
        number = whole(item.get("value"), number)
        yield item, _label(number, _form(item) or form)
        number += -1 if is_back else 1


def _form(element: Any) -> str:
    style = _LIST_STYLE.search(element.get("style") or "")
    return _LIST_STYLES.get(style[1].lower(), style[1].lower()) if style else ""


def _label(number: int, form: str) -> str:
    if form == "bullet":
        return BULLET
    return "" if form == "none" else f"{shown(number, form) if form in FORMS else number}."


def alternative(picture: Any) -> str:
    """Return what a person reads who does not see a picture."""
    if (picture.get("role") or "").lower() in ("presentation", "none"):
        return ""
    return in_line(picture.get("alt"))
