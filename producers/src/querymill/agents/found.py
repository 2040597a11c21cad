"""What a search of any kind found, in one form: a place, a title, a score and a text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from querymill.agents.places import Place, Span
from querymill_shared.contracts.conversations.search import ConversationHit, ConversationResult
from querymill_shared.contracts.files.search import FileHit, FileResult
from querymill_shared.contracts.jobs import SearchResult
from querymill_shared.contracts.messages.search import MessageHit, MessageResult
from querymill_shared.contracts.modules.search import ModuleDocumentHit, ModuleResult
from querymill_shared.contracts.reports.search import ReportHit, ReportResult

#: Messages on either side of the one that was found, which an answer is shown with it.
NEIGHBOURS = 2


@dataclass(frozen=True, slots=True)
class Found:
    """A hit. ``title`` says what it is and where in it. ``text`` is "" where the result does not hold it."""

    place: Place
    title: str
    score: float
    text: str


def found_in(result: SearchResult) -> tuple[Found, ...]:
    """Return the hits of a result, best first."""
    match result:
        case ReportResult():
            return tuple(_page(hit, result.collection) for hit in result.results)
        case MessageResult():
            return tuple(_message(hit, result.collection) for hit in result.results)
        case ConversationResult():
            return tuple(_session(hit, result.collection) for hit in result.results)
        case ModuleResult():
            return tuple(_module(hit, result.collection) for hit in result.results)
        case FileResult():
            return tuple(_file(hit, result.collection) for hit in result.results)
        case _:
            raise TypeError(f"{result.kind}: `found_in` does not know this kind of hit yet")


def _page(hit: ReportHit, collection: str) -> Found:
    place = Place("reports", collection, hit.document, Span(hit.page, hit.page))
    return Found(place, f"{hit.title}, page {hit.page}", hit.score, hit.text)


def _message(hit: MessageHit, collection: str) -> Found:
    # Chats of some tools give their messages no ids; their places in the session do.
    number = hit.message_number if hit.message_id is None else None
    place = Place("messages", collection, hit.session_id, None if number is None else Span(number, number),
                  hit.message_id)  # fmt: skip
    who = ", ".join(part for part in (hit.user_name, hit.message_role, f"{hit.created_at:%Y-%m-%d}") if part)
    return Found(place, f"{hit.session_name or hit.session_id}, {who}", hit.score, hit.content)


def _session(hit: ConversationHit, collection: str) -> Found:
    number = hit.message_number
    place = Place("conversations", collection, hit.session_id, None if number is None else Span(number, number))
    where = "" if number is None else f", message {number}"
    return Found(place, f"{hit.name or hit.session_id}{where}, {hit.last_active:%Y-%m-%d}", hit.score, hit.snippet)


def _module(hit: ModuleDocumentHit, collection: str) -> Found:
    text = "\n".join(part for part in (hit.description, hit.code) if part)
    return Found(Place("modules", collection, str(hit.document)), hit.file_path, hit.score, text)


def _file(hit: FileHit, collection: str) -> Found:
    span = Span(hit.excerpt[0].first, hit.excerpt[0].last) if hit.excerpt else None
    where = "" if span is None else f", lines {span}"
    return Found(Place("files", collection, hit.path, span), f"{hit.path}{where}", hit.score, "")


def lacks_text(found: Found) -> bool:
    """Whether the text of a hit must be read from its document: a search of files returns places only."""
    return not found.text.strip()


def with_text(found: Found, document: Mapping[str, Any]) -> Found:
    """Return a hit with its text from its document: the lines of a file, a message of a session and its neighbours."""
    span = found.place.span
    if found.place.kind == "files":
        lines = str(document.get("content", "")).splitlines()
        first, last = (1, len(lines)) if span is None else (span.first, span.last)
        return replace(found, text="\n".join(lines[first - 1 : last]))
    if found.place.kind == "conversations" and span is not None:
        return replace(found, text=_around(document.get("messages", ()), span.first) or found.text)
    return found


def _around(messages: Sequence[Mapping[str, Any]], number: int) -> str:
    near = messages[max(number - 1 - NEIGHBOURS, 0) : number + NEIGHBOURS]
    return "\n".join(f"{message.get('role') or 'message'}: {message.get('text', '')}" for message in near)
