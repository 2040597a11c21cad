"""OpenDocument: what is drawn on its pages and is no text, such as pictures and films, to count it."""

from collections import Counter
from typing import Any, Final

from querymill_reading.rules.pictures import PICTURE, is_small, points

_DRAW, _TEXT, _PRESENTATION, _SVG = (
    f"{{urn:oasis:names:tc:opendocument:xmlns:{name}:1.0}}"
    for name in ("drawing", "text", "presentation", "svg-compatible")
)
_IMAGE, _PLUGIN = f"{_DRAW}image", f"{_DRAW}plugin"
_OBJECTS: Final = (f"{_DRAW}object", f"{_DRAW}object-ole", f"{_DRAW}applet", f"{_DRAW}floating-frame")
#: What a frame shows, of which a picture is but a preview.
_SHOWN: Final = (*_OBJECTS, _PLUGIN, f"{_DRAW}text-box")


def drawn_in(root: Any) -> Counter[str]:
    """Return how many things of each kind are drawn below an element, without what was deleted."""
    kinds: Counter[str] = Counter()
    for frame in root.iter(f"{_DRAW}frame"):
        if next(frame.iterancestors(f"{_TEXT}tracked-changes"), None) is not None:
            continue
        kinds["film or sound"] += sum(1 for _ in frame.iterchildren(_PLUGIN))
        kinds[PICTURE] += is_picture(frame)
    return kinds


def is_picture(frame: Any) -> bool:
    """Return whether a frame shows a picture: one that is no preview, no decoration, no place for one, and no dot."""
    if next(frame.iterchildren(_IMAGE), None) is None or next(frame.iterchildren(*_SHOWN), None) is not None:
        return False
    is_decoration = any(name.endswith("}decorative") and value == "true" for name, value in frame.items())
    is_place = frame.get(f"{_PRESENTATION}placeholder") == "true"
    sides = (points(frame.get(f"{_SVG}{name}")) for name in ("width", "height"))
    return not (is_decoration or is_place or is_small(*sides))


def shows_something(slide: Any) -> bool:
    """Return whether anything is drawn on a slide, beside empty places for texts and the notes."""
    return any(
        isinstance(shape.tag, str)
        and shape.tag.startswith(_DRAW)
        and shape.get(f"{_PRESENTATION}placeholder") != "true"
        for shape in slide
    )
