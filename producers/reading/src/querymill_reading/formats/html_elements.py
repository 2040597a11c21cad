"""HTML: what one element is, and what stands for it in a text: the number of an item, the description of a picture."""

import re
from collections.abc import Iterator
from typing import Any, Final

from querymill_reading.rules.list_numbers import BULLET, BY_SIGN, FORMS, shown, whole
from querymill_reading.rules.pictures import MAX_SIGN, in_line, is_small, points

#: Elements whose text is no part of the page.
LEFT_OUT: Final = frozenset(
    [
        "script", "style", "template", "noscript", "nav", "head", "iframe", "object", "svg", "button", "select",
        "textarea", "ix:header", "ix:hidden", "rt", "rp", "rtc", "audio", "video", "canvas", "applet", "frame",
        "noframes", "noembed", "datalist",
    ]
)  # fmt: skip
#: What is left out and counted, by the name that a remark gives it.
COUNTED: Final = {
    "nav": "navigation", "noscript": "text for browsers without scripts", "iframe": "embedded page",
    "object": "embedded object", "svg": "drawing with text", "select": "form field", "textarea": "form field",
    "rt": "reading of a word (ruby)", "audio": "sound", "video": "film", "canvas": "drawing by a script",
    "embed": "embedded object", "applet": "embedded object", "frame": "embedded page",
    "noframes": "text for browsers without frames", "noembed": "text for browsers without embedded objects",
}  # fmt: skip
#: What is played or drawn in its place. A text in it is for browsers that cannot do that.
_PLAYED: Final = frozenset(["audio", "video", "canvas", "embed", "applet", "frame", "iframe", "object"])
#: Elements that begin a line of their own.
BLOCKS: Final = frozenset(
    [
        "address", "article", "aside", "blockquote", "body", "center", "dd", "div", "dl", "dt", "fieldset",
        "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "html", "li",
        "main", "ol", "p", "pre", "section", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "ul",
    ]
)  # fmt: skip

#: Styles by which a page ends before or after an element.
BREAK_BEFORE: Final = re.compile(r"(?:page-)?break-before\s*:\s*(?:always|page|left|right)", re.I)
BREAK_AFTER: Final = re.compile(r"(?:page-)?break-after\s*:\s*(?:always|page|left|right)", re.I)
_HIDDEN: Final = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.I)
_SIDE: Final = re.compile(r"(?:^|[\s;])(width|height)\s*:\s*([0-9.]{1,8}[a-z]{2})", re.I)
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
    """Return whether an element is not shown, such as a dialog that is not open."""
    if element.get("hidden") is not None or _HIDDEN.search(element.get("style") or "") is not None:
        return True
    return tag_of(element) == "dialog" and element.get("open") is None


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
    return "" if _is_decoration(picture) else in_line(picture.get("alt"))


def is_picture(element: Any) -> bool:
    """Return whether an element shows a picture that its text does not stand for.

    None is one for decoration, a dot or a line, a sign that has its text, and one that the mail around it brings as an
    attachment.
    """
    if tag_of(element) == "svg":
        return next(element.iter("image"), None) is not None and not is_hidden(element) and not _is_small(element)
    if tag_of(element) != "img" or not any(element.get(name) for name in ("src", "srcset", "data-src")):
        return False
    alt = " ".join((element.get("alt") or "").split())
    is_sign, is_attached = 0 < len(alt) <= MAX_SIGN, (element.get("src") or "").lower().startswith("cid:")
    return not (is_sign or is_attached or _is_decoration(element) or _is_small(element) or is_hidden(element))


def is_played(element: Any) -> bool:
    """Return whether an element shows something that is no text, such as a film or another page."""
    return tag_of(element) in _PLAYED and not is_hidden(element) and not _is_small(element)


def _is_decoration(picture: Any) -> bool:
    """Return whether a picture says nothing. An empty text says so, but not of one that stands as a figure."""
    if (picture.get("role") or "").lower() in ("presentation", "none"):
        return True
    return picture.get("alt", "-").strip() == "" and all(tag_of(above) != "figure" for above in picture.iterancestors())


def _is_small(element: Any) -> bool:
    styled = {name.lower(): length for name, length in _SIDE.findall(element.get("style") or "")}
    return is_small(*(points(element.get(name) or styled.get(name)) for name in ("width", "height")))


def texts_shown(element: Any) -> Iterator[str]:
    """Yield the texts below an element with their blanks, without what is not shown."""
    yield element.text or ""
    for child in element:
        if tag_of(child) == "br":
            yield "\n"
        elif tag_of(child) and tag_of(child) not in LEFT_OUT and not is_hidden(child):
            yield from texts_shown(child)
        yield child.tail or ""
