"""The tool ``read``."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field

from querymill.agents.access import Access, run
from querymill.agents.budget import bound, end_within, fits
from querymill.agents.stored_text import clean, clean_line, fence, introduction
from querymill.agents.tools.faults import Fault
from querymill.agents.tools.replies import Budget
from querymill.agents.tools.scope import chosen
from querymill.presenting.places import LETTERS, Place, PlaceSpan
from querymill_shared.contracts.documents import ShowDocument
from querymill_shared.contracts.errors import JobEnded
from querymill_shared.contracts.filters import Retriever

DESCRIPTION: Final = (
    "Read a document or a part of it, by an id from `search` or `list`. `part` takes page, message or line"
    " numbers (41-43); `around` takes one, with its neighbours."
)
#: Parts on either side of the one that is read around.
NEIGHBOURS: Final[Mapping[Retriever, int]] = {
    "reports": 1, "messages": 5, "conversations": 5, "modules": 30, "files": 30,
}  # fmt: skip
_PART: Final = re.compile(r"(?P<first>\d{1,9})(?:-(?P<last>\d{1,9}))?(?:@(?P<offset>\d{1,9}))?")
_NAMES: Final = {"p": "page", "m": "message", "L": "line"}
#: Tokens that the last line takes, and those of what is said about the reading of a document.
_FOOT_TOKENS: Final = 60
_REMARK_TOKENS: Final = 200
_OF_A_PAGE: Final = re.compile(r"page (\d{1,9}): ")


class ReadArguments(BaseModel):
    """What the tool takes."""

    model_config = ConfigDict(extra="forbid")

    id: str
    around: Annotated[int | None, Field(ge=0)] = None
    part: str | None = None
    max_tokens: Budget = 4_000


@dataclass(frozen=True, slots=True)
class Unit:
    """A page, a message or a line with its number, what stands above its text, and its text."""

    number: int
    heading: str
    text: str


@dataclass(frozen=True, slots=True)
class WantedPart:
    """The numbers to read, and how many characters of the first text are left out."""

    span: PlaceSpan
    offset: int = 0


async def call(access: Access, arguments: ReadArguments) -> str:
    """Read a document, as much of it as the budget takes.

    Raises:
        Fault: There is no such document or part.
    """
    place = Place.parse(arguments.id)
    collection, kind = await chosen(access, place.collection, place.kind)
    try:
        shown = await run(access, ShowDocument(retriever=kind, collection=collection, id=place.document))
    except JobEnded as error:
        if " is not among the " not in error.reason:
            raise
        raise Fault("nothing is stored under this id (any more); search again") from error
    units = units_of(kind, shown.document)
    wanted = wanted_of(place, arguments, units, messages=shown.document.get("messages", ()))
    title = clean_line(str(shown.document.get("title") or shown.document.get("name") or place.document))[:120]
    whole = Place(kind, collection, place.document)
    parts = (title, f"id {whole}", access.link(place))
    head = " · ".join(part for part in parts if part)
    said = remarks_on(shown.document, units, wanted)
    return composed(head, units, wanted, said, letter=LETTERS[kind], max_tokens=arguments.max_tokens)


def units_of(kind: Retriever, document: Mapping[str, Any]) -> list[Unit]:
    """Cut a document into its pages, messages or lines."""
    match kind:
        case "reports":
            return [Unit(page["page"], f"page {page['page']}", page["text"]) for page in document["pages"]]
        case "messages" | "conversations":
            return [_message(number, message) for number, message in enumerate(document["messages"], start=1)]
        case "modules":
            text = f"{document['meta_info'].get('description', '')}\n{document['code']}".strip("\n")
            return _lines(text)
        case "files":
            return _lines(document["content"])


def _message(number: int, message: Mapping[str, Any]) -> Unit:
    parts = (f"message {number}", message.get("role"), message.get("created_at"))
    return Unit(number, clean_line(", ".join(str(part) for part in parts if part)), message["text"])


def _lines(text: str) -> list[Unit]:
    return [Unit(number, "", f"{number}: {line}") for number, line in enumerate(text.splitlines(), start=1)]


def wanted_of(
    place: Place, arguments: ReadArguments, units: Sequence[Unit], *, messages: Sequence[Mapping[str, Any]] = ()
) -> WantedPart:
    """Return what is to be read: the ``part``, what is ``around`` a number, what the id names, or all.

    A message is read with its neighbours.

    Raises:
        Fault: There is no such part.
    """
    name = _NAMES[LETTERS[place.kind]]
    if not units:
        raise Fault("the document is empty")
    if arguments.part is not None:
        wanted = _part(arguments.part, name)
    else:
        wanted = WantedPart(_named(place, arguments, messages) or PlaceSpan(units[0].number, units[-1].number))
    if not any(wanted.span.first <= unit.number <= wanted.span.last for unit in units):
        raise Fault(f"it has no {name} {wanted.span}; it has {units[0].number} to {units[-1].number}")
    return wanted


def _part(written: str, name: str) -> WantedPart:
    found = _PART.fullmatch(written.strip().lstrip("#pmL"))
    if found is None:
        raise Fault(f"part: give {name} numbers, such as 41 or 41-43")
    first = int(found["first"])
    return WantedPart(PlaceSpan(first, int(found["last"] or first)), int(found["offset"] or 0))


def _named(place: Place, arguments: ReadArguments, messages: Sequence[Mapping[str, Any]]) -> PlaceSpan | None:
    near = NEIGHBOURS[place.kind]
    number = arguments.around
    if number is None and place.message is not None:
        ids = [str(message.get("message_id")) for message in messages]
        if place.message not in ids:
            raise Fault("the session has no such message (any more); search again")
        number = ids.index(place.message) + 1
    if number is not None:
        return PlaceSpan(max(number - near, 0), number + near)
    return place.span


def remarks_on(document: Mapping[str, Any], units: Sequence[Unit], wanted: WantedPart) -> str:
    """Return what was left out or read otherwise: at the beginning all of it, later that of the pages."""
    remarks = document.get("remarks")
    written = [clean_line(each) for each in remarks if isinstance(each, str)] if isinstance(remarks, list) else []
    if wanted.offset:
        return ""
    if wanted.span.first > units[0].number:
        pages = ((each, _OF_A_PAGE.match(each)) for each in written)
        written = [each for each, page in pages if page and wanted.span.first <= int(page[1]) <= wanted.span.last]
    text = f"Left out or read otherwise: {'; '.join(written)}" if written else ""
    return fits(text, max_tokens=_REMARK_TOKENS)


def composed(head: str, units: Sequence[Unit], wanted: WantedPart, said: str, *, letter: str, max_tokens: int) -> str:
    """Write as many of the wanted units as fit the budget, after what is said about them, and how to read the rest."""
    chosen_units = [unit for unit in units if wanted.span.first <= unit.number <= wanted.span.last]
    texts = [clean(unit.text) for unit in chosen_units]
    texts[0] = texts[0][wanted.offset :]
    mark = fence([*texts, said])
    # Names in a file, such as those of its sheets, are part of what is said.
    lines = [head, introduction(mark), mark, *filter(None, (said,))]
    left = max_tokens - bound("\n".join(lines)) - bound(mark) - _FOOT_TOKENS
    body: list[str] = []
    going_on = ""
    for place, (unit, text) in enumerate(zip(chosen_units, texts, strict=True)):
        heading = f"[{unit.heading}]\n" if unit.heading else ""
        cost = bound(f"{heading}{text}\n") + 1
        if cost > left:
            # A unit that does not fit whole is cut only if nothing stands before it.
            end = 0 if body else end_within(text, max_tokens=max(left - bound(heading) - 1, 1))
            body += [heading + text[:end]] if end else []
            offset = end + (wanted.offset if place == 0 else 0)
            going_on = _going_on(unit.number, chosen_units[-1].number, offset)
            break
        body.append(heading + text)
        left -= cost
    total = sum(bound(text) for text in texts)
    shown = bound("\n".join(body))
    foot = f"About {shown} of {total} tokens; go on with part={going_on}" if going_on else _end(units, wanted, letter)
    return "\n".join([*lines, *body, mark, foot])


def _going_on(first: int, last: int, offset: int) -> str:
    return f'"{PlaceSpan(first, last)}@{offset}"' if offset else f'"{PlaceSpan(first, last)}"'


def _end(units: Sequence[Unit], wanted: WantedPart, letter: str) -> str:
    name = _NAMES[letter]
    if wanted.span.first <= units[0].number and wanted.span.last >= units[-1].number:
        return "This is all of it."
    return f"It has {name}s {units[0].number} to {units[-1].number}."
