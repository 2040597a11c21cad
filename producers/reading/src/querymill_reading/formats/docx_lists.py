"""WordprocessingML: what stands before the items of lists, which a text does not hold but its numbering makes."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from docx.oxml.ns import qn

from querymill_reading.document import Remarks
from querymill_reading.rules.list_numbers import FORMS, ListCounter, ListLevel, whole

_VALUE, _STYLE_ID, _TYPE = qn("w:val"), qn("w:styleId"), qn("w:type")
_NUM_PR: Final = f"{qn('w:pPr')}/{qn('w:numPr')}"
_OFF: Final = ("0", "false", "off")
#: Styles that are based on others, and lists that are named by styles, are followed so far.
MAX_DEPTH: Final = 20
MAX_LEVEL: Final = 8


@dataclass(slots=True)
class Lists:
    """The lists of a document. Ask for the labels of its paragraphs in their order."""

    abstracts: dict[str, Any] = field(default_factory=dict)
    numbers: dict[str, Any] = field(default_factory=dict)
    styles: dict[str, Any] = field(default_factory=dict)
    usual_style: str = ""
    counters: dict[str, ListCounter] = field(default_factory=dict)
    levels: dict[str, Mapping[int, ListLevel]] = field(default_factory=dict)
    unknown: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, numbering: Any, styles: Any) -> "Lists":
        """Take the lists from the roots of the parts that define them; ``numbering`` is None if there are none."""
        found = cls()
        for style in styles.iterchildren(qn("w:style")):
            found.styles[style.get(_STYLE_ID) or ""] = style
            if style.get(_TYPE) == "paragraph" and (style.get(qn("w:default")) or "0") not in _OFF:
                found.usual_style = style.get(_STYLE_ID) or ""
        if numbering is not None:
            for abstract in numbering.iterchildren(qn("w:abstractNum")):
                found.abstracts[abstract.get(qn("w:abstractNumId")) or ""] = abstract
            for number in numbering.iterchildren(qn("w:num")):
                found.numbers[number.get(qn("w:numId")) or ""] = number
        return found

    def label_of(self, paragraph: Any) -> str:
        """Return what stands before a paragraph, and count it; nothing if it is no item of a list."""
        if not self.numbers:
            return ""
        number, level = self._place_of(paragraph)
        if number not in self.numbers or not 0 <= level <= MAX_LEVEL:
            return ""
        key = self._abstract_of(number)
        counter = self.counters.setdefault(key, ListCounter({}))
        if number not in self.levels:
            self._begin(number, self.abstracts.get(key), counter)
        counter.levels = self.levels[number]
        if level in counter.levels and (form := counter.levels[level].form) not in FORMS and form != "bullet":
            self.unknown[form] += 1
        return counter.next_label(level)

    def note_unknown(self, remarks: Remarks) -> None:
        """Add remarks about numbers whose form is not known."""
        for form, count in self.unknown.items():
            remarks.count(count, "number of a list", f"of a form that is not known ({form[:40]}), shown in digits")

    def _begin(self, number: str, abstract: Any, counter: ListCounter) -> None:
        """Begin a list: its levels are those of its definition, which several lists may share, or its own.

        It counts on where another one with this definition ended, unless it says so.
        """
        levels = {} if abstract is None else _levels(abstract)
        for override in self.numbers[number].iterchildren(qn("w:lvlOverride")):
            level = whole(override.get(qn("w:ilvl")))
            if (other := override.find(qn("w:lvl"))) is not None:
                levels[level] = _level(other)
            if (start := override.find(qn("w:startOverride"))) is not None:
                counter.restart(level, whole(start.get(_VALUE)))
        self.levels[number] = levels

    def _place_of(self, paragraph: Any) -> tuple[str, int]:
        """Return the list and the level of a paragraph: its own, or those of its style."""
        own = paragraph.find(_NUM_PR)
        number, level = _said(own)
        if number is not None:
            return number, level or 0
        style = paragraph.find(f"{qn('w:pPr')}/{qn('w:pStyle')}")
        named = style.get(_VALUE) if style is not None else self.usual_style
        for _ in range(MAX_DEPTH):
            if (found := self.styles.get(named or "")) is None:
                break
            number, of_style = _said(found.find(_NUM_PR))
            if number is not None:
                if level is None and of_style is None:
                    of_style = self._level_of_style(number, named or "")
                return number, (level if level is not None else of_style) or 0
            based = found.find(qn("w:basedOn"))
            named = based.get(_VALUE) if based is not None else None
        return "", 0

    def _level_of_style(self, number: str, style: str) -> int | None:
        """Return the level that names a style as its own."""
        abstract = self.abstracts.get(self._abstract_of(number))
        for level in abstract.iterchildren(qn("w:lvl")) if abstract is not None else ():
            named = level.find(qn("w:pStyle"))
            if named is not None and named.get(_VALUE) == style:
                return whole(level.get(qn("w:ilvl")))
        return None

    def _abstract_of(self, number: str) -> str:
        """Return the key of the definition that a list uses, if need be by the style that names it."""
        key = ""
        for _ in range(MAX_DEPTH):
            found = self.numbers.get(number)
            reference = found.find(qn("w:abstractNumId")) if found is not None else None
            if reference is None:
                break
            key = reference.get(_VALUE) or ""
            link = self.abstracts[key].find(qn("w:numStyleLink")) if key in self.abstracts else None
            style = self.styles.get(link.get(_VALUE) or "") if link is not None else None
            if style is None:
                break
            number = _said(style.find(_NUM_PR))[0] or ""
        return key


def _said(properties: Any) -> tuple[str | None, int | None]:
    """Return the list and the level that properties name; None for what they do not."""
    if properties is None:
        return None, None
    number, level = properties.find(qn("w:numId")), properties.find(qn("w:ilvl"))
    return (
        (number.get(_VALUE) or "") if number is not None else None,
        whole(level.get(_VALUE)) if level is not None else None,
    )


def _levels(abstract: Any) -> dict[int, ListLevel]:
    return {whole(level.get(qn("w:ilvl"))): _level(level) for level in abstract.iterchildren(qn("w:lvl"))}


def _level(level: Any) -> ListLevel:
    def value(name: str, usual: str) -> str:
        found = level.find(qn(name))
        return usual if found is None else found.get(_VALUE) or ""

    restarts = value("w:lvlRestart", "")
    legal = level.find(qn("w:isLgl"))
    return ListLevel(
        form=value("w:numFmt", "decimal"),
        text=value("w:lvlText", ""),
        start=whole(value("w:start", "0")),
        is_legal=legal is not None and (legal.get(_VALUE) or "1") not in _OFF,
        restarts_after=whole(restarts) if restarts else None,
    )
