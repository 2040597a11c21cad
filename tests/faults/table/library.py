"""What the clients of a run write, read and ask: documents that change, and a library that does not."""

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final, get_args

from querymill import AnswerQuestion, EmbedTexts, Rerank, Search, ShowDocument
from querymill_shared.contracts.filters import Retriever
from querymill_shared.contracts.jobs import JobRequest
from tests.fixtures.people import dropping, ingestion, search
from tests.fixtures.writes import SHAPES, Write, word_of

KINDS: Final[tuple[Retriever, ...]] = get_args(Retriever)
#: What the documents of the library are about, besides the number of each.
_SUBJECTS: Final = ("harbour", "lighthouse", "ferry", "cargo", "anchor", "tide", "pilot", "dock")
_ASKED_OF_EACH: Final = 6
#: The texts of the words of `word_of`.
_WORDS: Final = re.compile(r"\bzo[a-z]{7}ok\b")
_HITS: Final = [
    {"id": f"h{number}", "text": f"the fleet of {subject} {number} counts ships", "score": 0.9 - number / 100}
    for number, subject in enumerate(_SUBJECTS)
]


@dataclass(frozen=True)
class Document:
    """A document that changes, such as "reports/d1", and the words that it has had."""

    kind: Retriever
    name: str
    words: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}"


@dataclass
class Shelf:
    """The documents that the clients write, each with one word at a time that no other has."""

    collection: str
    documents: list[Document]
    _numbers: "count[int]" = field(default_factory=lambda: count(1))

    @classmethod
    def of(cls, collection: str, *, each: int, prefix: str = "d") -> "Shelf":
        """Return a shelf with so many documents of each kind."""
        return cls(collection, [Document(kind, f"{prefix}{number}") for number in range(each) for kind in KINDS])

    def putting(self, document: Document) -> tuple[JobRequest, str]:
        """Return the job that writes a document with a new word, and the word."""
        word = word_of(next(self._numbers))
        document.words.append(word)
        return ingestion(document.kind, self.collection, self._line(document, word)), word

    def dropping(self, document: Document) -> JobRequest:
        """Return the job that drops a document."""
        return dropping(document.kind, self.collection, ids=[self._id(document)])

    def showing(self, document: Document) -> JobRequest:
        """Return the job that reads a document."""
        return ShowDocument(retriever=document.kind, collection=self.collection, id=self._id(document))

    def looking_for(self, document: Document, word: str) -> JobRequest:
        """Return the search for a word."""
        request: JobRequest = search(document.kind, self.collection, word)
        return request

    def words_shown(self, document: Document, result: Any) -> Counter[str]:
        """Count which of its words the hits of a search show of a document."""
        # The explanation of a hit repeats what was asked.
        hits = (hit.model_dump_json(exclude={"explanation"}) for hit in result.results)
        return Counter(word for hit in hits for word in set(_WORDS.findall(hit)) if word in document.words)

    def _line(self, document: Document, word: str) -> Mapping[str, Any]:
        texts = {"p": f"{word} p def {word}(): vtkActor of the harbour"}
        return SHAPES[document.kind].line(Write(document.kind, self._id(document), "put", texts, team="red"))

    def _id(self, document: Document) -> str:
        return f"{document.name}.py" if document.kind in ("files", "modules") else document.name


def word_in(shown: Any) -> str:
    """Return the word of a document that was read."""
    (word,) = set(_WORDS.findall(json.dumps(shown.document)))
    return str(word)


def digest_of(result: Any) -> Any:
    """Return what a result must always say alike: its hits in their order with their scores, and its answer."""
    if result.kind == "embed":
        return {name: [round(number, 4) for number in result.embedding(name)[:8]] for name in sorted(result.vectors)}
    told = [_told(hit.model_dump(mode="json")) for hit in result.results]
    answer = getattr(result, "answer", None)
    return [told, answer.text if answer else None]


def _told(hit: Mapping[str, Any]) -> list[Any]:
    names = ("id", "document", "session_id", "path", "key", "message_id", "page", "number", "kind")
    return [hit[name] for name in names if name in hit] + [round(hit.get("score") or 0.0, 4)]


@dataclass
class Library:
    """Documents that stay, questions about them, and what each is answered without a fault."""

    collection: str
    questions: list[JobRequest] = field(default_factory=list)
    expected: list[Any] = field(default_factory=list)

    def fill(self, finish: Callable[[JobRequest], Any]) -> None:
        """Ingest the documents, and ask each question twice."""
        for kind in KINDS:
            finish(ingestion(kind, self.collection, *(self._line(kind, number) for number in range(24))))
        self.questions = [self._question(kind, number) for kind in KINDS for number in range(_ASKED_OF_EACH)]
        self.questions += self._services()

    def learn(self, ask: Callable[[JobRequest], Any]) -> None:
        """Remember what each question is answered, which must be the same twice."""
        self.expected = [digest_of(ask(question)) for question in self.questions]
        again = [digest_of(ask(question)) for question in self.questions]
        for question, first, second in zip(self.questions, self.expected, again, strict=True):
            if first != second:
                raise RuntimeError(f"without a fault, {question.kind} is answered {first}, then {second}")

    def _line(self, kind: Retriever, number: int) -> dict[str, Any]:
        text = f"{_SUBJECTS[number % 8]} {number} has {_SUBJECTS[(number + 3) % 8]} of class vtkActor{number}"
        shape, name = SHAPES[kind], f"k{number}"
        name = f"{name}.py" if kind in ("files", "modules") else name
        return shape.line(Write(kind, name, "put", {"p": text, "q": f"def berth_{number}(): the fleet"}, team="red"))

    def _question(self, kind: Retriever, number: int) -> JobRequest:
        request: JobRequest = search(kind, self.collection, f"{_SUBJECTS[number]} {_SUBJECTS[number + 2]} berth")
        return request

    def _services(self) -> list[JobRequest]:
        texts = [{"id": f"t{number}", "text": f"text {number} of the library"} for number in range(3)]
        common = {"collection": self.collection, "hits": _HITS}
        return [
            EmbedTexts.model_validate({"collection": self.collection, "texts": texts}),
            Rerank.model_validate({"query": "the fleet", **common}),
            AnswerQuestion.model_validate({"query": "how many ships", **common}),
            Search.model_validate({"collections": [self.collection], "query": "which berth has the ferry"}),
        ]
