"""OpenDocument: what stands before the items of lists and before numbered headings."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from querymill_reading.rules.list_numbers import BULLET, BY_SIGN, ListCounter, ListLevel, whole

_TEXT: Final = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_STYLE: Final = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
_LIST, _ITEM, _HEADING = f"{_TEXT}list", f"{_TEXT}list-item", f"{_TEXT}h"
_BLOCKS: Final = (f"{_TEXT}p", _HEADING)
_NUMBERED: Final = (f"{_TEXT}list-level-style-number", f"{_TEXT}outline-level-style")
_OTHERS: Final = (f"{_TEXT}list-level-style-bullet", f"{_TEXT}list-level-style-image")
#: Where a list ends that has another one around it.
_WALLS: Final = ("table-cell", "text-box", "note-body", "annotation")
_ID: Final = "{http://www.w3.org/XML/1998/namespace}id"
#: The levels that there are.
MAX_LEVEL: Final = 10


@dataclass(slots=True)
class Lists:
    """The lists of a document. Ask for the labels of its paragraphs in their order."""

    styles: dict[str, Mapping[int, ListLevel]] = field(default_factory=dict)
    outline: ListCounter = field(default_factory=lambda: ListCounter({}))
    counters: dict[Any, ListCounter] = field(default_factory=dict)
    last: tuple[str, ListCounter] | None = None
    by_id: dict[str, ListCounter] = field(default_factory=dict)

    @classmethod
    def of(cls, *roots: Any) -> "Lists":
        """Take the lists from the parts that define them."""
        found = cls()
        for root in roots:
            for style in root.iter(f"{_TEXT}list-style"):
                found.styles[style.get(f"{_STYLE}name") or ""] = dict(_levels(style))
            for style in root.iter(f"{_TEXT}outline-style"):
                found.outline = ListCounter(dict(_levels(style)))
        return found

    def label_of(self, paragraph: Any) -> str:
        """Return what stands before a paragraph or a heading, and count it; nothing if it is no item of a list."""
        item = paragraph.getparent()
        if item is None or item.tag != _ITEM:
            return self._of_heading(paragraph) if paragraph.tag == _HEADING else ""
        if next(item.iterchildren(*_BLOCKS), None) is not paragraph:
            return ""
        lists = list(_around(item))
        name = next((name for each in lists if (name := each.get(f"{_TEXT}style-name"))), "")
        levels = self.styles.get(name)
        if levels is None or not lists:
            return BULLET
        counter = self._counter_of(lists[-1], name)
        counter.levels = levels
        level = len(lists) - 1
        if start := item.get(f"{_TEXT}start-value"):
            counter.restart(level, whole(start, 1))
        return counter.next_label(level)

    def _of_heading(self, heading: Any) -> str:
        if heading.get(f"{_TEXT}is-list-header") == "true":
            return ""
        level = whole(heading.get(f"{_TEXT}outline-level"), 1) - 1
        return self.outline.next_label(level)

    def _counter_of(self, outermost: Any, name: str) -> ListCounter:
        """Return what counts a list: what counted another one, if it goes on with that.

        A list goes on with one that it names, or with the one before it, if that is of the same style.
        """
        style = outermost.get(f"{_TEXT}style-name") or name
        if outermost not in self.counters:
            before = self.by_id.get(outermost.get(f"{_TEXT}continue-list") or "")
            if before is None and outermost.get(f"{_TEXT}continue-numbering") == "true" and self.last is not None:
                before = self.last[1] if self.last[0] == style else None
            self.counters[outermost] = before or ListCounter({})
        counter = self.counters[outermost]
        self.last = (style, counter)
        if id_ := outermost.get(_ID):
            self.by_id[id_] = counter
        return counter


def _around(item: Any) -> Iterator[Any]:
    """Yield the lists that an item is in, the innermost first."""
    for above in item.iterancestors():
        if above.tag == _LIST:
            yield above
        elif isinstance(above.tag, str) and above.tag.endswith(_WALLS):
            return


def _levels(style: Any) -> Iterator[tuple[int, ListLevel]]:
    for each in style.iterchildren(*_NUMBERED, *_OTHERS):
        level = min(whole(each.get(f"{_TEXT}level"), 1), MAX_LEVEL)
        yield level - 1, ListLevel("bullet") if each.tag in _OTHERS else _numbered(each, level)


def _numbered(each: Any, level: int) -> ListLevel:
    sign = each.get(f"{_STYLE}num-format") or ""
    form = BY_SIGN.get(sign, "decimal" if sign else "none")
    if form.endswith("LetterPlaces") and each.get(f"{_STYLE}num-letter-sync") == "true":
        form = form.removesuffix("Places")
    shown = range(max(level - whole(each.get(f"{_TEXT}display-levels"), 1), 0) + 1, level + 1)
    numbers = ".".join(f"%{at}" for at in shown) if form != "none" else ""
    before, after = (each.get(f"{_STYLE}num-{name}") or "" for name in ("prefix", "suffix"))
    return ListLevel(form, f"{before}{numbers}{after}", whole(each.get(f"{_TEXT}start-value"), 1))
