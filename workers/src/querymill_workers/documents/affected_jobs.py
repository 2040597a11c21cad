"""Which jobs on the board can hold a text of forgotten documents."""

from collections.abc import Callable, Collection, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, Final, get_args

from pydantic_core import from_json, to_json

from querymill_shared.board.erasure import Kept
from querymill_shared.board.joining import Reads
from querymill_shared.contracts.answer import AnswerQuestion
from querymill_shared.contracts.callbacks import TellCaller
from querymill_shared.contracts.conversations import ConversationRequest
from querymill_shared.contracts.documents import DropDocuments
from querymill_shared.contracts.embed import EmbedTexts
from querymill_shared.contracts.feedback import GiveFeedback, ListFeedback
from querymill_shared.contracts.fields import FROM_BOARD
from querymill_shared.contracts.files import FileRequest
from querymill_shared.contracts.filters import Filterable, Retriever, passes
from querymill_shared.contracts.ingest import Extend
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.contracts.messages import MessageRequest
from querymill_shared.contracts.modules import ModuleRequest
from querymill_shared.contracts.reports import ReportRequest
from querymill_shared.contracts.rerank import Rerank
from querymill_shared.contracts.set_aside import ListSetAside
from querymill_shared.contracts.vectors import EmbedDocuments, Reembed, WeighVectors
from querymill_shared.values import value
from querymill_workers.documents.ports import Entry
from querymill_workers.documents.texts import ForgottenTexts


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
#: What a caller is told of a job holds no text, and names no document.
_TELLING: Final = frozenset((str(TellCaller.model_fields["kind"].default),))
ANYBODYS: Final = _kinds(JobRequest) - frozenset().union(*OWN.values()) - _TELLING
#: Jobs that name the documents that they found, listed or showed.
READING: Final = _kinds(Reads | ListSetAside | ListFeedback) - _kinds(AnswerQuestion | Rerank | EmbedTexts) - _TELLING
#: What reads texts under ids that a caller chose: its result, or what was asked, can hold a text and name no document.
UNNAMED: Final = _kinds(AnswerQuestion | Rerank)
#: The fields that hold ids of documents, those that say why one was refused, and those of requests that list ids.
NAMING: Final = ("document", "session_id", "path", "file_path", "sha1", "changed", "removed")
REMARKS: Final = ("reason",)
LISTING: Final = ("documents", "files")
#: What stands for a forgotten id in the result of a write.
GONE: Final = "forgotten"
#: Ids that can be looked for in every text.
FEW: Final = 100
#: No id is longer.
_MAX_ID_CHARS: Final = 1_200
EntryOf = Callable[[Mapping[str, Any]], Entry | None]


@value
class Forgotten:
    """What was forgotten of a retriever: documents by id, those that pass a filter, or everything."""

    retriever: Retriever
    ids: AbstractSet[str]
    conditions: Mapping[str, Any]
    everything: bool = False
    texts: ForgottenTexts | None = None
    #: What filters see of a document in a request. Without it, none passes the conditions.
    entry_of: EntryOf | None = None
    #: False if a former attempt dropped documents by a filter: only it knew their ids.
    knows_ids: bool = True

    def may_be_in(self, kind: str) -> bool:
        """Whether a kind of job can hold texts of the retriever at all."""
        return kind in OWN[self.retriever] or kind in ANYBODYS

    @property
    def ids_if_few(self) -> Collection[str] | None:
        """The ids of what was forgotten, or None if these are many or are not known one by one."""
        return None if not self._knows_each or len(self.ids) > FEW else self.ids

    @property
    def _knows_each(self) -> bool:
        return self.knows_ids and not self.everything

    def is_told_by(self, kept: Kept) -> bool:
        """Whether the result of a job that reads names a forgotten document. Where there is none, look at all else."""
        if not kept.result:
            return self.may_be_told_in(kept.rest)
        written = from_json(kept.result)
        if not self._knows_each:
            return any(_names_in(written))
        return any(part in self.ids for text in _texts(written) for part in _ids_in(text))

    def may_be_told_in(self, text: str) -> bool:
        """Whether a text contains a forgotten id. If there are many ids, it may."""
        ids = self.ids_if_few
        return ids is None or any(id_ in text for id_ in ids)

    def outcome_in(self, result: str) -> str | None:
        """Return the result of a write without forgotten ids, or None if it names other documents only.

        "" stands for a result that names no document at all: nobody can tell which ones it wrote.
        """
        written = from_json(result) if result else {}
        named = list(_names_in(written))
        if not named:
            return ""
        return to_json(self._without_ids(written)).decode() if any(map(self._is_forgotten, named)) else None

    def _is_forgotten(self, name: str) -> bool:
        return not self._knows_each or name in self.ids

    def _without_ids(self, written: Any) -> Any:
        if isinstance(written, list):
            return [self._without_ids(part) for part in written]
        if not isinstance(written, dict):
            return written
        is_its_own = any(isinstance(written.get(name), str) and self._is_forgotten(written[name]) for name in NAMING)
        return {
            name: self._blank(value) if name in NAMING else "" if is_its_own and name in REMARKS
            else self._without_ids(value)
            for name, value in written.items()
        }  # fmt: skip

    def _blank(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._blank(part) for part in value]
        return GONE if isinstance(value, str) and self._is_forgotten(value) else value

    def ids_in(self, request: JobRequest) -> list[str]:
        """Return the ids of the forgotten documents that a write names."""
        written = request.model_dump(mode="json")
        if not self.everything:
            return [text for text in dict.fromkeys(_texts(written)) if text in self.ids]
        listed = [name for field in LISTING for name in written.get(field) or () if isinstance(name, str)]
        return list(dict.fromkeys([*_names_in(written), *listed]))

    def is_in(self, request: JobRequest) -> bool:
        """Whether a request that writes holds a forgotten document or text."""
        if isinstance(request, EmbedTexts):
            return self.without(request) != request
        if isinstance(request, DropDocuments):
            same = bool(request.filter) and request.filter == self.conditions
            is_meant = self.everything or same or not self.ids.isdisjoint(request.ids)
            return request.retriever == self.retriever and is_meant
        if isinstance(request, GiveFeedback):
            return request.of == self.retriever and self.without(request) != request
        if isinstance(request, EmbedDocuments | Reembed | WeighVectors):
            return request.retriever == self.retriever and (self.everything or self.without(request) != request)
        if isinstance(request, Extend) and request.retriever != self.retriever:
            return False
        return request.kind in OWN[self.retriever] and self._is_in(request.model_dump(mode="json"))

    def without(self, request: JobRequest) -> JobRequest | None:
        """Return a request without the forgotten documents or texts, or None if it holds no other."""
        if isinstance(request, EmbedTexts):
            # One that returns vectors loses nothing. It is submitted again.
            return self.texts.without(request) if self.texts is not None and request.into == "table" else None
        if isinstance(request, DropDocuments):
            return None
        if isinstance(request, GiveFeedback):
            kept = (
                () if self.everything else tuple(each for each in request.judgements if each.document not in self.ids)
            )
            return request.model_copy(update={"judgements": kept}) if kept else None
        if isinstance(request, EmbedDocuments | Reembed | WeighVectors):
            return None if self.everything else self._still_to_embed(request)
        written = request.model_dump(mode="json")
        left = {name: self._kept(value) for name, value in written.items()}
        if self._is_in(left) or any(written[name] and not left[name] for name in written):
            return None
        return type(request).model_validate(left, context=FROM_BOARD)

    def _still_to_embed(
        self, request: EmbedDocuments | Reembed | WeighVectors
    ) -> EmbedDocuments | Reembed | WeighVectors | None:
        if not isinstance(request, EmbedDocuments) or not request.documents:
            return request  # it embeds what is stored
        kept = tuple(document for document in request.documents if document not in self.ids)
        return request.model_copy(update={"documents": kept}) if kept else None

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
        if not self.conditions or self.entry_of is None:
            return False
        found = _documents(self.entry_of, written)
        return any(passes(self.conditions, Filterable(entry.fields, entry.metadata)) for entry in found)


def _names_in(written: Any) -> Iterator[str]:
    """Yield the ids of documents that a result or a request names by the fields that are for them."""
    match written:
        case dict():
            for name, value in written.items():
                if name in NAMING:
                    yield from (
                        text for text in (value if isinstance(value, list) else [value]) if isinstance(text, str)
                    )
                else:
                    yield from _names_in(value)
        case list():
            for value in written:
                yield from _names_in(value)
        case _:
            return


def _ids_in(text: str) -> Iterator[str]:
    """Yield what may be an id in a text: all of it, or what comes before a "/", as in the keys of hits."""
    yield text
    if len(text) <= _MAX_ID_CHARS:
        start = len(text) - len(text.lstrip("0123456789"))
        for begin in {0, start + 1} if text[start : start + 1] == "/" else {0}:
            yield from (text[begin:end] for end, char in enumerate(text) if char == "/" and end > begin)


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


def _documents(entry_of: EntryOf, written: Any) -> Iterator[Entry]:
    """Yield what filters see of the documents in a request."""
    if isinstance(written, list):
        for value in written:
            yield from _documents(entry_of, value)
    elif isinstance(written, dict):
        entry = entry_of(written)
        if entry is not None:
            yield entry
            return
        for value in written.values():
            yield from _documents(entry_of, value)
