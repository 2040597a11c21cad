"""A document as the reader shows it: its passages in order, the one that was cited marked. Pure."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from querymill.gateway.console.wording import moment, shown_metadata
from querymill.presenting.excerpts import telling_sentence
from querymill.presenting.hit import HitView

#: Passages before and after the one that is looked at; lines of a file that are shown around those marked.
NEIGHBOURS: Final = 15
AROUND: Final = 60
#: No page, message or hit has a longer number.
MAX_DIGITS: Final = 9


@dataclass(frozen=True, slots=True)
class ShownPassage:
    """A page, a message or the text of a document. ``marks`` are places in it, in characters."""

    name: str
    text: str
    facts: tuple[str, ...] = ()
    marks: tuple[tuple[int, int], ...] = ()
    is_here: bool = False


@dataclass(frozen=True, slots=True)
class FileLine:
    """A line of a file, from 1."""

    number: int
    text: str
    is_marked: bool = False


@dataclass(frozen=True, slots=True)
class DocumentView:
    """A document that is read: some of its passages, or lines; its metadata; the page, and those before and after.

    ``remarks`` say what of the file is not in it, or was read otherwise.
    """

    title: str
    passages: tuple[ShownPassage, ...] = ()
    lines: tuple[FileLine, ...] = ()
    metadata: tuple[tuple[str, str], ...] = ()
    page: int | None = None
    before: int | None = None
    after: int | None = None
    left_out: int = 0
    remarks: tuple[str, ...] = ()


def reading_of(
    kind: str,
    name: str,
    document: Mapping[str, Any],
    hit: HitView | None,
    *,
    question: str = "",
    page: str | None = None,
    message: str | None = None,
) -> DocumentView:
    """Return how a document is read from where the visitor came from, who asked a question."""
    if "pages" in document:
        return _report(name, document, hit, question, page)
    if "messages" in document:
        return _session(name, document, hit, question, message)
    return _file(name, document, hit) if kind == "files" else _whole(name, document, hit, question)


def _marks(hit: HitView | None, question: str, text: str) -> tuple[tuple[int, int], ...]:
    """Return where in a text the sentence of a hit stands that says most of the question, else the whole hit."""
    if hit is None:
        return ()
    shown = hit.shown.strip("… ")
    return place_of(telling_sentence(shown, question), text) or place_of(shown, text)


def place_of(passage: str, text: str) -> tuple[tuple[int, int], ...]:
    r"""Return where a passage stands in a text; blanks may differ. () if it does not.

    >>> place_of("margin rose", "Gross margin\n rose to 41 %")
    ((6, 18),)
    """
    words = passage.split()
    if not words:
        return ()
    start = text.find(passage.strip())
    if start >= 0:
        return ((start, start + len(passage.strip())),)
    kept = [place for place, character in enumerate(text) if not character.isspace()]
    found = "".join(text[place] for place in kept).find("".join(words))
    return () if found < 0 else ((kept[found], kept[found + sum(map(len, words)) - 1] + 1),)


def _report(
    name: str, document: Mapping[str, Any], hit: HitView | None, question: str, page: str | None
) -> DocumentView:  # fmt: skip
    pages: Sequence[Mapping[str, Any]] = document["pages"]
    numbers = [int(each["page"]) for each in pages]
    wanted = number_of(page)
    place = numbers.index(wanted) if wanted in numbers else 0
    text = str(pages[place]["text"])
    remarks = _remarks(document)
    return DocumentView(
        str(document.get("title") or name),
        (
            ShownPassage(
                f"Page {numbers[place]} of {len(pages)}", text, marks=_marks(hit, question, text), is_here=True
            ),
        ),
        metadata=_metadata(document, "pages"),
        remarks=remarks,
        page=numbers[place],
        before=numbers[place - 1] if place > 0 else None,
        after=numbers[place + 1] if place + 1 < len(numbers) else None,
    )


def _session(
    name: str, document: Mapping[str, Any], hit: HitView | None, question: str, message: str | None
) -> DocumentView:  # fmt: skip
    messages: Sequence[Mapping[str, Any]] = document["messages"]
    at = next(
        (place for place, each in enumerate(messages) if message and str(each.get("message_id")) == message), None
    )
    if at is None:
        number = getattr(hit.hit, "message_number", None) if hit else _number(message, most=len(messages))
        at = number - 1 if number else None
    first = max(0, (at or 0) - NEIGHBOURS)
    last = min(len(messages), (at or 0) + NEIGHBOURS + 1)
    shown = [
        _message(messages[place], place, hit if place == at else None, question, is_here=place == at)
        for place in range(first, last)
    ]
    title = str(document.get("name") or document.get("session_id") or name)
    return DocumentView(
        title,
        tuple(shown),
        metadata=_metadata(document, "messages"),
        remarks=_remarks(document),
        left_out=len(messages) - (last - first),
    )


def _number(written: str | None, *, most: int) -> int | None:
    """Return a number from 1 to ``most``, by which links name a message that has no id."""
    number = number_of(written)
    return number if number is not None and 1 <= number <= most else None


def number_of(written: str | None) -> int | None:
    """Return the number that a link names, None if it names none that a document could have."""
    is_number = written is not None and written.isascii() and written.isdigit() and len(written) <= MAX_DIGITS
    return int(written or "0") if is_number else None


def _message(
    message: Mapping[str, Any], place: int, hit: HitView | None, question: str, *, is_here: bool
) -> ShownPassage:  # fmt: skip
    text = str(message["text"])
    marks = _marks(hit, question, text) or (hit.marks if hit else ())
    facts = [str(message["role"])] if message.get("role") else []
    if message.get("created_at"):
        facts.append(moment(str(message["created_at"])))
    return ShownPassage(f"Message {place + 1}", text, tuple(facts), marks, is_here)


def _file(name: str, document: Mapping[str, Any], hit: HitView | None) -> DocumentView:
    ranges = [(part.first, part.last) for part in getattr(hit.hit, "excerpt", ())] if hit else []
    lines = str(document.get("content") or document.get("text") or "").split("\n")
    near = [
        number
        for number in range(1, len(lines) + 1)
        if not ranges or any(first - AROUND <= number <= last + AROUND for first, last in ranges)
    ][:2_000]
    shown = tuple(FileLine(number, lines[number - 1], any(a <= number <= b for a, b in ranges)) for number in near)
    return DocumentView(
        name, lines=shown, metadata=_metadata(document, "content", "text"), left_out=len(lines) - len(shown)
    )


def _whole(name: str, document: Mapping[str, Any], hit: HitView | None, question: str) -> DocumentView:
    field = next((field for field in ("code", "content", "text") if document.get(field)), "")
    text = str(document.get(field, ""))
    return DocumentView(
        name, (ShownPassage("", text, marks=_marks(hit, question, text)),), metadata=_metadata(document, field)
    )


def _remarks(document: Mapping[str, Any]) -> tuple[str, ...]:
    said = document.get("remarks")
    return tuple(map(str, said)) if isinstance(said, list) else ()


def _metadata(document: Mapping[str, Any], *left_out: str) -> tuple[tuple[str, str], ...]:
    if _remarks(document):
        left_out += ("remarks",)
    shown = {name: value for name, value in shown_metadata(document).items() if name not in left_out}
    return tuple(
        (name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
        for name, value in shown.items()
    )
