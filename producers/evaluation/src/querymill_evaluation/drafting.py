"""Propose questions from documents by rules, without a model.

A proposal repeats words of its document, which favours a search by words. The person who confirms it should put it into
words of their own.
"""

import hashlib
import heapq
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

#: Words that carry no subject.
_EMPTY: Final = frozenset(
    """
    about above after again against also although always among another because been before being below between both
    could does doing done down during each either even ever every from further have having here into itself just
    less like made make many might more most much must need never none only onto other ours over please really same
    shall should since some still such than thank thanks that their them then there these they thing this those
    through thus under until upon very want were what when where whether which while will with within without would
    your yours return self true false null import class function const
    """.split()  # noqa: SIM905  # a list of its words would fill a page
)
_LATIN: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]{3,39}(?![A-Za-z0-9_])")
_CHINESE: Final = re.compile(r"[\u4e00-\u9fff]+")
_SENTENCE: Final = re.compile(r"[^.!?。！？\n]{12,400}[.!?。！？]?")
_QUESTION: Final = re.compile(r"[^.!?。！？\n]{8,300}[?？]")
_DEFINITION: Final = re.compile(
    r"^\s*(?:export\s+|public\s+|async\s+|default\s+)*(?:def|class|function|func|fn|interface|struct)\s+"
    r"([A-Za-z][A-Za-z0-9_]{4,59})",
    re.MULTILINE,
)
_WORD_OF_NAME: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
#: Passages kept of a collection, for each question that is wanted, and the characters kept of each.
_KEPT, _CHARS = 8, 4_000


@dataclass(frozen=True, slots=True)
class DraftPassage:
    """A text that could answer a question. ``judged`` is the id that judgements name.

    ``question`` is a question that a person asked and this text follows, and ``asked_as`` the id of its message.
    """

    judged: str
    text: str
    question: str | None = None
    asked_as: str | None = None


@dataclass(frozen=True, slots=True)
class Proposal:
    """A question for a passage; ``metadata`` goes into the set with it."""

    judged: str
    passage: str
    question: str
    drafted_by: str
    metadata: Mapping[str, Any] = field(default_factory=dict)


def with_message_ids(kind: str, document: Mapping[str, Any]) -> Mapping[str, Any]:
    """Give every message an id, because judgements name messages by their ids."""
    if kind != "messages":
        return document
    messages = [
        message if message.get("message_id") is not None else {**message, "message_id": f"{document['session_id']}#{n}"}
        for n, message in enumerate(document["messages"])
    ]
    return {**document, "messages": messages}


def passages_of(kind: str, document: Mapping[str, Any]) -> Iterator[DraftPassage]:
    """Yield the passages of an exported document that questions may be about."""
    yield from _PASSAGES[kind](document)


def _report(document: Mapping[str, Any]) -> Iterator[DraftPassage]:
    for page in document["pages"]:
        yield DraftPassage(f"{document['sha1']}/{page['page']}", page["text"])


def _module(document: Mapping[str, Any]) -> Iterator[DraftPassage]:
    judged = document["file_path"] if document.get("faiss_id") is None else document["faiss_id"]
    yield DraftPassage(str(judged), document["meta_info"].get("description") or document["code"])


def _file(document: Mapping[str, Any]) -> Iterator[DraftPassage]:
    yield DraftPassage(document["path"], document["content"])


def _messages(document: Mapping[str, Any]) -> Iterator[DraftPassage]:
    earlier: Mapping[str, Any] | None = None
    for message in document["messages"]:
        question = None if earlier is None else asked_in(earlier["text"])
        answers = question is not None and earlier is not None and not asked_in(message["text"])
        asked_as = earlier["message_id"] if earlier is not None and answers else None
        yield DraftPassage(message["message_id"], message["text"], question if answers else None, asked_as)
        earlier = message


def _conversation(document: Mapping[str, Any]) -> Iterator[DraftPassage]:
    texts = [message["text"] for message in document["messages"]]
    asked = next((question for text in texts if (question := asked_in(text)) is not None), None)
    yield DraftPassage(document["session_id"], "\n".join(texts), asked)


_PASSAGES: Final[Mapping[str, Callable[[Mapping[str, Any]], Iterator[DraftPassage]]]] = {
    "reports": _report,
    "messages": _messages,
    "conversations": _conversation,
    "modules": _module,
    "files": _file,
}


def asked_in(text: str) -> str | None:
    """Return the first question of a text, or None."""
    found = _QUESTION.search(text[:_CHARS])
    return None if found is None else " ".join(found[0].split())


def terms_of(text: str) -> list[str]:
    """Return the words that can be a subject: Latin words of four letters, and Chinese in pieces of up to four."""
    latin = [word for word in _LATIN.findall(text) if word.lower() not in _EMPTY]
    chinese = [run[at : at + 4] for run in _CHINESE.findall(text) for at in range(0, len(run), 4) if len(run) > 1]
    return latin + [piece for piece in chinese if len(piece) > 1]


class DraftSource:
    """The passages of a collection, read once: how rare its words are, and a sample of its passages.

    The sample is the same each time, and does not follow the order of the documents. However large the collection is,
    only the sample is in memory.
    """

    def __init__(self, kind: str, wanted: int) -> None:
        """Keep enough passages for so many questions."""
        self._kind, self._limit = kind, wanted * _KEPT
        self._sample: list[tuple[int, int, DraftPassage]] = []
        self._frequency: Counter[str] = Counter()
        self.passages = 0

    def read(self, documents: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
        """Take documents in, and pass them on as they go into the set."""
        for exported in documents:
            document = with_message_ids(self._kind, exported)
            for passage in passages_of(self._kind, document):
                self._take(passage)
            yield document

    def _take(self, passage: DraftPassage) -> None:
        terms = set(terms_of(passage.text[:_CHARS]))
        if not terms and passage.question is None:
            return
        self.passages += 1
        self._frequency.update(term.lower() for term in terms)
        place = int(hashlib.sha256(passage.judged.encode()).hexdigest()[:12], 16)
        # Negative, because the heap drops its smallest: the passages with the smallest hashes stay.
        entry = (-place, self.passages, passage)
        (heapq.heappush if len(self._sample) < self._limit else heapq.heappushpop)(self._sample, entry)

    def rarity(self, term: str) -> float:
        """Return how rare a word is: ``ln(1 + N / n)``; a word of one passage alone may be a slip, and counts half."""
        seen = self._frequency[term.lower()]
        return math.log(1 + self.passages / max(1, seen)) * (0.5 if seen <= 1 and self.passages > 1 else 1.0)

    def proposals(self, known: Iterable[str] = ()) -> Iterator[Proposal]:
        """Propose a question for every passage of the sample but those ``known`` by their judged id.

        Passages that answer a question from a stored chat come first.
        """
        done = set(known)
        ordered = sorted(self._sample, key=lambda entry: (entry[2].question is None, -entry[0], entry[1]))
        for _, _, passage in ordered:
            proposal = None if passage.judged in done else propose(self._kind, passage, self.rarity)
            if proposal is not None:
                done.add(passage.judged)
                yield proposal


def propose(kind: str, passage: DraftPassage, rarity: Callable[[str], float]) -> Proposal | None:
    """Propose a question for a passage by the first rule that fits, or None if the passage says too little."""
    if passage.question is not None:
        metadata = {} if passage.asked_as is None else {"exclude_message_id": passage.asked_as}
        return _proposal(passage, passage.question, "asked there", metadata)
    named = _definition(passage.text, rarity) if kind == "files" else None
    if named is not None:
        return _proposal(passage, f"Where is {named} done?", "a definition")
    sentence = max(_sentences(passage.text), key=lambda one: _weight(terms_of(one), rarity), default="")
    subjects = _rarest(terms_of(sentence), rarity)
    if len(subjects) < 2:
        return None
    if _CHINESE.search(sentence):
        return _proposal(passage, f"关于{'、'.join(subjects)}，说了什么？", "rare words")
    return _proposal(passage, f"What is said about {', '.join(subjects[:-1])} and {subjects[-1]}?", "rare words")


def _proposal(
    passage: DraftPassage, question: str, drafted_by: str, metadata: Mapping[str, Any] | None = None
) -> Proposal:
    return Proposal(passage.judged, passage.text[:_CHARS], question, drafted_by, metadata or {})


def _definition(text: str, rarity: Callable[[str], float]) -> str | None:
    """Return the words of the rarest name that a file defines, or None."""
    names = [name for name in _DEFINITION.findall(text) if len(_WORD_OF_NAME.findall(name)) > 1]
    rarest = max(names, key=lambda name: (rarity(name), name), default=None)
    return None if rarest is None else " ".join(word.lower() for word in _WORD_OF_NAME.findall(rarest))


def _sentences(text: str) -> list[str]:
    return [found[0].strip() for found in _SENTENCE.finditer(text[:_CHARS])]


def _weight(terms: Sequence[str], rarity: Callable[[str], float]) -> float:
    """Weigh a sentence: the rarity of its four rarest words."""
    return sum(sorted((rarity(term) for term in set(terms)), reverse=True)[:4])


def _rarest(terms: Sequence[str], rarity: Callable[[str], float], *, limit: int = 3) -> list[str]:
    """Return the rarest words, in the order of the text."""
    distinct = list(dict.fromkeys(terms))
    chosen = set(heapq.nlargest(limit, distinct, key=lambda term: (rarity(term), term)))
    return [term for term in distinct if term in chosen]
