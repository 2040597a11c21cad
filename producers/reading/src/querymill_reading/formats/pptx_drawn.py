"""PPTX: what is drawn on a slide and is no text, such as pictures and films, to count it."""

from collections.abc import Iterator
from typing import Any, Final

from querymill_reading.rules.pictures import PICTURE, is_small, points

_SLIDE: Final = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_DRAWING: Final = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_FALLBACK: Final = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_DECORATIVE: Final = "{http://schemas.microsoft.com/office/drawing/2017/decorative}decorative"
#: What is played in the place of a picture.
_PLAYED: Final = {
    "videoFile": "film", "quickTimeFile": "film", "audioFile": "sound", "wavAudioFile": "sound", "audioCd": "sound",
}  # fmt: skip
_DRAWN: Final = tuple(f"{_SLIDE}{name}" for name in ("sp", "grpSp", "graphicFrame", "cxnSp", "pic", "contentPart"))


def drawn_on(slide: Any) -> Iterator[str]:
    """Yield what each picture, film and sound of a slide is: none that is a preview, a decoration or a dot."""
    for picture in slide.iter(f"{_SLIDE}pic"):
        if next(picture.iterancestors(f"{_SLIDE}graphicFrame", _FALLBACK), None) is not None:
            continue
        played = next(picture.iter(*(f"{_DRAWING}{name}" for name in _PLAYED)), None)
        if played is not None:
            yield _PLAYED[played.tag.removeprefix(_DRAWING)]
        elif not is_decoration(picture) and not _is_dot(picture):
            yield PICTURE


def is_decoration(element: Any) -> bool:
    """Return whether the author of something drawn says that it is there for decoration."""
    return any(each.get("val") in ("1", "true") for each in element.iter(_DECORATIVE))


def shows_something(slide: Any) -> bool:
    """Return whether a slide without a text has anything drawn on it, beside empty places for texts."""
    if next(slide.iter(f"{_DRAWING}blip"), None) is not None:
        return True
    shapes = (shape for tree in slide.iter(f"{_SLIDE}spTree") for shape in tree.iter(*_DRAWN))
    return any(shape.tag != f"{_SLIDE}sp" or next(shape.iter(f"{_SLIDE}ph"), None) is None for shape in shapes)


def _is_dot(picture: Any) -> bool:
    extent = picture.find(f"{_SLIDE}spPr/{_DRAWING}xfrm/{_DRAWING}ext")
    return extent is not None and is_small(*(points(extent.get(name), "emu") for name in ("cx", "cy")))
