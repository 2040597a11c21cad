"""Which jobs on the board can hold a text of forgotten documents."""

from collections.abc import Collection, Iterator, Mapping
from datetime import date, datetime
from typing import Any, Final, get_args

from pydantic import TypeAdapter, ValidationError

from querymill_shared.board.joining import Reads
from querymill_shared.contracts.conversations import ConversationRequest
from querymill_shared.contracts.documents import DocumentRequest
from querymill_shared.contracts.embed import EmbedTexts
from querymill_shared.contracts.fields import FROM_BOARD, Moment
from querymill_shared.contracts.files import FileRequest
from querymill_shared.contracts.filters import RESERVED, FieldValue, Filterable, Retriever, passes
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.contracts.messages import MessageRequest
from querymill_shared.contracts.modules import ModuleRequest
from querymill_shared.contracts.reports import ReportRequest
from querymill_shared.values import frozen
from querymill_workers.documents.texts import EMBED, OPEN, ForgottenTexts


def _kinds(requests: Any) -> frozenset[str]:
    return frozenset(str(request.model_fields["kind"].default) for request in get_args(requests))


#: The kinds of job that can hold a text of a retriever: its own, and those that serve every retriever.
OWN: Final[Mapping[Retriever, frozenset[str]]] = {
    "modules": _kinds(ModuleRequest),
    "messages": _kinds(MessageRequest),
    "conversations": _kinds(ConversationRequest),
    "reports": _kinds(ReportRequest),
    "files": _kinds(FileRequest),
}
ANYBODYS: Final = _kinds(JobRequest) - frozenset().union(*OWN.values())
READS: Final = _kinds(Reads)
DOCUMENT_KINDS: Final = _kinds(DocumentRequest)
_MOMENT: Final[TypeAdapter[datetime]] = TypeAdapter(Moment)
_DAY: Final[TypeAdapter[date]] = TypeAdapter(date)


@frozen
class Forgotten:
    """What was forgotten of a retriever: documents by id, those that pass a filter, or everything."""

    retriever: Retriever
    ids: Collection[str]
    conditions: Mapping[str, Any]
    everything: bool = False
    texts: ForgottenTexts | None = None

    def may_be_in(self, kind: str) -> bool:
        """Whether a kind of job can hold texts of the retriever at all."""
        return kind in OWN[self.retriever] or kind in ANYBODYS

    def goes_unseen(self, kind: str, state: str) -> bool:
        """Whether a job goes whatever is in it, because nothing is lost: it reads only, or its writing is done.

        A question, a result or an answer can hold a text without naming its document.
        """
        if state in OPEN:
            return kind in READS and kind != EMBED
        return kind in READS or state == "done" or kind in DOCUMENT_KINDS

    def is_in(self, request: JobRequest) -> bool:
        """Whether a request that writes holds a forgotten document or text."""
        if isinstance(request, EmbedTexts):
            return self.without(request) != request
        return request.kind in OWN[self.retriever] and self._is_in(request.model_dump(mode="json"))

    def without(self, request: JobRequest) -> JobRequest | None:
        """Return a request without the forgotten documents or texts, or None if it holds no other."""
        if isinstance(request, EmbedTexts):
            # One that returns vectors loses nothing. It is submitted again.
            return self.texts.without(request) if self.texts is not None and request.into == "table" else None
        written = request.model_dump(mode="json")
        kept = {name: self._kept(value) for name, value in written.items()}
        if self._is_in(kept) or any(written[name] and not kept[name] for name in written):
            return None
        return type(request).model_validate(kept, context=FROM_BOARD)

    def _kept(self, value: Any) -> Any:
        match value:
            case list():
                return [part for part in value if not self._is_in(part)]
            case dict() if any(name in self.ids for name in value):
                return {name: part for name, part in value.items() if name not in self.ids}
            case _:
                return value

    def _is_in(self, written: Any) -> bool:
        if self.everything or any(text in self.ids for text in _texts(written)):
            return True
        return bool(self.conditions) and any(
            passes(self.conditions, document) for document in _documents(self.retriever, written)
        )


def _texts(written: Any) -> Iterator[str]:
    """Yield every text and whole number of a request that can be an id."""
    match written:
        case dict():
            for name, value in written.items():
                yield name
                yield from _texts(value)
        case list():
            for value in written:
                yield from _texts(value)
        case str() | int():
            yield str(written)
        case _:
            return


#: The field by which a document of a kind is recognised within a request.
_MARKS: Final[Mapping[Retriever, str]] = {
    "modules": "file_path",
    "messages": "session_id",
    "conversations": "session_id",
    "reports": "sha1",
    "files": "path",
}


def _documents(retriever: Retriever, written: Any) -> Iterator[Filterable]:
    """Yield what filters see of the documents in a request."""
    if isinstance(written, dict):
        if _MARKS[retriever] in written:
            yield _filterable(retriever, written)
        for value in written.values():
            yield from _documents(retriever, value)
    elif isinstance(written, list):
        for value in written:
            yield from _documents(retriever, value)


def _filterable(retriever: Retriever, document: Mapping[str, Any]) -> Filterable:
    fields: dict[str, FieldValue | tuple[FieldValue, ...]] = {name: document.get(name) for name in RESERVED[retriever]}
    match retriever:
        case "messages" | "conversations":
            messages = [message for message in document.get("messages", ()) if isinstance(message, dict)]
            fields["role"] = tuple(message.get("role") for message in messages)
            times = [document.get("started_at"), *(message.get("created_at") for message in messages)]
            fields["time"] = tuple(_read(_MOMENT, time) for time in times)
        case "reports":
            fields["published_at"] = _read(_DAY, document.get("published_at"))
        case "modules":
            fields["path"] = document.get("file_path")
            fields["module"] = tuple(document.get("meta_info", {}).get("vtkjs_modules", ()))
        case "files":
            pass
    return Filterable(fields, document)


def _read(reader: TypeAdapter[Any], written: Any) -> Any:
    try:
        return None if written is None else reader.validate_python(written)
    except ValidationError:
        return None
