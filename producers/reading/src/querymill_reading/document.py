"""What reading a file gives: pages with text, proposals, and remarks about what is missing. Plain data."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Self

#: Raise it with every change of the rules, so that files that were read before are read again.
READING_VERSION: Final = 9
#: The fields that are proposed, and that options and `metadata.csv` override.
FIELDS: Final = ("title", "company", "period", "published_at")


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a PDF, a slide, a sheet, or a section. ``label`` is the number printed on it, if that is another."""

    number: int
    text: str
    label: str = ""


@dataclass(frozen=True, slots=True)
class Remark:
    """Something that was left out or is read otherwise, and why.

    ``page`` is 0 for the whole file, ``place`` names a part of it, and ``count`` says how many such things there are
    (0 if they are not counted).
    """

    reason: str
    page: int = 0
    place: str = ""
    count: int = 0

    def __str__(self) -> str:
        where = (f"page {self.page}" if self.page else "", self.place)
        return ": ".join(filter(None, (*where, self.reason)))


@dataclass(frozen=True, slots=True)
class Document:
    """A file that was read. ``proposed`` has some of `FIELDS`; ``metadata`` what else the file says about itself."""

    format: str
    pages: Sequence[Page]
    proposed: Mapping[str, str] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    remarks: Sequence[Remark] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the document as plain values."""
        return asdict(self)

    @classmethod
    def from_json(cls, written: Mapping[str, Any]) -> Self:
        """Read what `as_json` gave."""
        return cls(
            format=written["format"],
            pages=tuple(Page(**page) for page in written["pages"]),
            proposed=written["proposed"],
            metadata=written["metadata"],
            remarks=tuple(Remark(**remark) for remark in written["remarks"]),
        )


class Unreadable(Exception):
    """Raised when a file gives no document. The message is the reason; ``page`` is where it happened, or 0."""

    def __init__(self, reason: str, page: int = 0) -> None:
        super().__init__(f"page {page}: {reason}" if page else reason)
        self.reason = reason
        self.page = page


class EngineMissing(Unreadable):
    """Raised when the engine of a format is not installed here: the file may be good."""


class NoRoom(Unreadable):
    """Raised when a file could not be handed to the process that reads it: the file may be good."""


def reason_of(error: Exception) -> str:
    """Return why something was not read, on one line."""
    match error:
        case Unreadable():
            return error.reason
        case RecursionError():
            return "nested too deeply"
        case KeyError():
            return f"a part that it names is missing: {' '.join(str(error).split())[:200]}"
        case _:
            return f"cannot be read: {type(error).__name__}: {' '.join(str(error).split())[:200]}"


def plural(one: str) -> str:
    """Return the plural of an English noun, and of nouns with "or" between them; what is said of them stays.

    >>> plural("header or footer of the print"), plural("part that is nested too deeply")
    ('headers or footers of the print', 'parts that are nested too deeply')
    """
    words = one.split(" ")
    end = next((at for at, word in enumerate(words) if word in _AFTER_A_NOUN), len(words))
    if words[end : end + 1] == ["that"] and words[end + 1 : end + 2] == ["is"]:
        words[end + 1] = "are"
    nouns = {end - 1, *(at - 1 for at, word in enumerate(words[:end]) if word == "or")}
    return " ".join(_plural_word(word) if at in nouns else word for at, word in enumerate(words))


def _plural_word(word: str) -> str:
    if re.search("[^aeiou]y$", word):
        return f"{word[:-1]}ies"
    return f"{word}es" if word.endswith(("s", "x", "ch", "sh")) else f"{word}s"


def _of_several(what: str) -> str:
    """Return what became of several things, where it says what became of one: nothing behind a colon is ours."""
    said, colon, named = what.partition(": ")
    for one, several in (("it was", "they were"), ("it is", "they are")):
        said = re.sub(rf"\b{one}\b", several, said)
    return re.sub(r"\bits (\w+)", lambda found: f"their {plural(found[1])}", said) + colon + named


#: Words behind which nothing of a noun has a plural.
_AFTER_A_NOUN: Final = ("with", "without", "of", "in", "by", "at", "that", "from", "for", "on")


@dataclass(slots=True)
class Remarks:
    """Gathers what is missing of one file while its parts are read."""

    noted: list[Remark] = field(default_factory=list)

    @contextmanager
    def part(self, place: str = "", page: int = 0) -> Iterator[None]:
        """Read one part of a file, such as a page, a table or a chart. What it raises costs this part alone.

        Raises:
            MemoryError, ImportError: These concern the process, not the part.
        """
        try:
            yield
        except (MemoryError, ImportError):
            raise
        except Exception as error:  # noqa: BLE001  # whatever an engine or a rule raises
            self.note(reason_of(error), place, page)

    def note(self, reason: str, place: str = "", page: int = 0) -> None:
        """Add a remark about a place."""
        self.noted.append(Remark(reason, page, place))

    def count(self, count: int, one: str, what: str, place: str = "", page: int = 0) -> None:
        """Add a remark about several things of a kind, named by ``one`` of them, and ``what`` became of them."""
        if count > 0:
            said = f"1 {one}: {what}" if count == 1 else f"{count} {plural(one)}: {_of_several(what)}"
            self.noted.append(Remark(said, page, place, count))


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """What one file may cost. A process that exceeds its memory or time is ended, and the file is refused.

    ``seconds`` is for the whole file, ``seconds_a_page`` for each page. OCR has a time of its own; pages that exceed it
    are left out. ``unpacked_bytes`` and ``members`` bound an archive, and every file that is a ZIP archive inside.
    """

    file_bytes: int = 256 << 20
    unpacked_bytes: int = 512 << 20
    members: int = 20_000
    memory_bytes: int = 2 << 30
    seconds: float = 300.0
    seconds_a_page: float = 30.0
    ocr_seconds: float = 3_600.0
    ocr_seconds_a_page: float = 60.0
    pages: int = 5_000
    characters: int = 20_000_000
