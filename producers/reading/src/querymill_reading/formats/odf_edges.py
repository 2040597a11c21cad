"""OpenDocument: what stands at the edges of pages, if a page shows it."""

from collections.abc import Iterator
from typing import Any, Final

from querymill_reading.formats.odf import BLOCKS, STYLE, Opened, Reading

_EDGES: Final = {
    f"{STYLE}{edge}{pages}": edge.capitalize() for edge in ("header", "footer") for pages in ("", "-left", "-first")
}
_MASTER, _NAMED, _NEXT = f"{STYLE}master-page", f"{STYLE}master-page-name", f"{STYLE}next-style-name"
_NAME, _SHOWN = f"{STYLE}name", f"{STYLE}display"
#: The page style of a text that names none.
_USUAL: Final = "Standard"


def repeated_texts(found: Opened, reading: Reading) -> list[str]:
    """Return what stands at the edges of pages that the document has, each text once, headers first."""
    told: dict[str, dict[str, None]] = {"Header": {}, "Footer": {}}
    for master in _used(found):
        for element in master.iterchildren(*_EDGES):
            if element.get(_SHOWN) == "false":
                continue
            text = " ".join(" ".join(reading.text(paragraph).split()) for paragraph in element.iter(*BLOCKS)).strip()
            if any(letter.isalpha() for letter in text):
                kind = _EDGES[element.tag]
                told[kind][f"{kind}: {text}"] = None
    return [text for texts in told.values() for text in texts]


def _used(found: Opened) -> Iterator[Any]:
    """Yield the page styles that a document uses: the usual one, those that styles name, and those that follow them."""
    masters = {each.get(_NAME) or "": each for each in found.styles.iter(_MASTER)} if found.styles is not None else {}
    roots = [found.body.getroottree().getroot(), *([found.styles] if found.styles is not None else [])]
    used = {each.get(_NAMED) or "" for root in roots for each in root.iter(f"{STYLE}style")}
    used.add(_USUAL if _USUAL in masters else next(iter(masters), ""))
    for _ in masters:
        used |= {masters[name].get(_NEXT) or "" for name in used if name in masters}
    yield from (each for name, each in masters.items() if name in used)
