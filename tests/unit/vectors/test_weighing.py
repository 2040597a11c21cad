"""What a model is worth, in a world whose models are scripted: a perfect one, and one that says nothing."""

import math
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import pytest

from querymill import ConversationSearch, FileSearch, MessageSearch, ModuleSearch, ReportSearch, WeighVectors
from querymill_shared.contracts.filters import Retriever
from querymill_shared.contracts.vectors import WeighVectorsResult
from querymill_workers.inference.ports import InputType, Vectors
from querymill_workers.jobs.deadline import Caller
from querymill_workers.jobs.usage import ProviderUsage
from querymill_workers.vectors.rules.worth import weight_of
from tests.fakes.models import WordEmbeddings
from tests.fakes.vectors import DIMENSIONS, vector_of
from tests.fixtures.embedded import LINES, Collection
from tests.fixtures.people import ingestion
from tests.fixtures.short_forms import all_at_night

DOCUMENTS, QUESTIONS = 120, 25
#: Every search shows so many hits.
SHOWN: Final = 10
SEARCHES: Final[Mapping[Retriever, Callable[..., Any]]] = {
    "conversations": lambda **asked: ConversationSearch(top_n=SHOWN, **asked),
    "files": lambda **asked: FileSearch(top_n=SHOWN, candidates=50, **asked),
    "messages": lambda **asked: MessageSearch(limit=SHOWN, **asked),
    "modules": lambda **asked: ModuleSearch(top_k=SHOWN, **asked),
    "reports": lambda **asked: ReportSearch(top_n=SHOWN, **asked),
}
#: By day one kind: how each joins its rankings has tests of its own.
ONE_BY_DAY: Final = pytest.mark.parametrize("collection", all_at_night(SEARCHES, short=["messages"]), indirect=True)
NAMES: Final[Mapping[Retriever, str]] = {
    "conversations": "session_id", "files": "path", "messages": "session_id", "modules": "file_path",
    "reports": "document",
}  # fmt: skip


class Topics:
    """Documents of one topic each. A question has few words of its document, and more of another one."""

    def __init__(self, seed: int) -> None:
        chance = random.Random(seed)
        own = [[f"w{topic}x{number}" for number in range(12)] for topic in range(DOCUMENTS)]
        self.texts = {
            f"d{topic}": ". ".join(
                f"the {' '.join(chance.sample([*own[topic], *own[(topic + 1) % DOCUMENTS]], 9))} of it is here"
                for _ in range(4)
            )
            for topic in range(DOCUMENTS)
        }
        self.golds: dict[str, str] = {}
        for topic in chance.sample(range(DOCUMENTS), QUESTIONS):
            helpful = chance.random() < 0.5
            share = (own[topic] if helpful else own[(topic + 7) % DOCUMENTS])[:3]
            self.golds[f"what about {' '.join(share)} q{topic}"] = f"d{topic}"
        self._words = {name: set(text.replace(".", "").split()) for name, text in self.texts.items()}

    def topic_of(self, text: str) -> int:
        """Return the number of the topic that a text is of."""
        known = self.golds.get(text)
        if known is None:
            said = set(text.replace(".", "").split())
            known = max(self._words, key=lambda name: (len(said & self._words[name]), name))
        return int(known[1:])


class Scripted(WordEmbeddings):
    """A model whose vectors a test says."""

    def __init__(self, of: Callable[[str, InputType], np.ndarray[Any, Any]]) -> None:
        super().__init__("scripted")
        self._of = of

    def embed(self, texts: Sequence[str], *, input_type: InputType, caller: Caller) -> tuple[Vectors, ProviderUsage]:
        rows = [self._of(text, input_type) for text in texts]
        return np.stack(rows) if rows else np.empty((0, DIMENSIONS), np.float32), ProviderUsage(1, len(texts))

    def cached(self, texts: Sequence[str], *, input_type: InputType, collection: str) -> Vectors | None:
        return None


def perfect(topics: Topics) -> Scripted:
    def of(text: str, _: InputType) -> np.ndarray[Any, Any]:
        vector = np.full(DIMENSIONS, 0.01, np.float32)
        vector[topics.topic_of(text.rsplit("\n", 1)[-1])] = 1.0
        return np.asarray(vector / np.linalg.norm(vector), np.float32)

    return Scripted(of)


def random_model() -> Scripted:
    return Scripted(lambda text, role: vector_of(f"{hash((text, role)):x}{len(text)}"))


def fill(collection: Collection, topics: Topics, model: Scripted) -> None:
    collection.world.with_ports(embeddings=model)
    for name, text in topics.texts.items():
        request = ingestion(collection.kind, "c", LINES[collection.kind](name, text))
        if collection.kind == "files":
            request = request.model_copy(update={"vectors": True})
        collection.world.run(request)


def ndcg(collection: Collection, golds: Mapping[str, str], **asked: Any) -> float:
    """The mean nDCG@10 of questions with one gold document each."""
    found = []
    for question, gold in golds.items():
        request = SEARCHES[collection.kind](query=question, collection="c", **asked)
        job_id = collection.world.run(request)
        while waiting := [step for step in collection.world.board.picture(job_id).steps if not step.is_closed]:
            for step in waiting:  # a round of files has several steps of one queue
                collection.world.ring(job_id, request, step.name)
        result: Any = collection.world.result(job_id)
        names = list(dict.fromkeys(getattr(hit, NAMES[collection.kind]) for hit in result.results))
        found.append(1 / math.log2(2 + names.index(gold)) if gold in names else 0.0)
    return sum(found) / len(found)


def weighings(collection: Collection) -> Iterable[str]:
    board = collection.world.board
    return [id_ for id_ in board.recent(limit=999) if board.picture(id_).record.kind == "weigh_vectors"]


@ONE_BY_DAY
def test_a_perfect_model_decides_the_ranking(collection: Collection) -> None:
    topics = Topics(1)
    fill(collection, topics, perfect(topics))
    assert ndcg(collection, topics.golds, vectors_weight=0) < 0.8
    assert ndcg(collection, topics.golds) >= 0.98


@ONE_BY_DAY
def test_a_random_model_costs_nothing(collection: Collection) -> None:
    topics = Topics(2)
    fill(collection, topics, random_model())
    by_words = ndcg(collection, topics.golds, vectors_weight=0)
    assert by_words > 0.3
    assert ndcg(collection, topics.golds, vectors_weight=100) < by_words - 0.05
    assert ndcg(collection, topics.golds) >= by_words - 0.01


def test_a_collection_is_weighed_once_it_is_embedded_and_again_when_it_has_doubled(collection: Collection) -> None:
    topics = Topics(3)
    fill(collection, topics, perfect(topics))
    first = list(weighings(collection))
    assert len(first) == collection.each  # at 100 passages, and at 200 where a document has two
    known = collection.vectors.worth("c", model="scripted")
    assert known is not None
    assert known.weight is not None
    assert known.weight >= weight_of(1.0, 1.0)
    collection.put(more="the ship of the crew is here and there and there again")
    assert list(weighings(collection)) == first
    request = WeighVectors(collection="c", retriever=collection.kind)
    result = collection.result(request)
    assert isinstance(result, WeighVectorsResult)
    assert (result.model, result.weight) == ("scripted", collection.vectors.worth("c", model="scripted").weight)  # type: ignore[union-attr]


def test_nothing_is_weighed_while_documents_wait_for_their_job(collection: Collection) -> None:
    collection.put(waiting="the last ship of the fleet is here")
    topics = Topics(4)
    collection.vectors.await_embedding("c", {"waiting": "another job"}, models=["scripted"])
    assert collection.vectors.is_awaited("c")
    fill(collection, topics, perfect(topics))
    assert list(weighings(collection)) == []


def test_a_small_collection_is_not_weighed(collection: Collection) -> None:
    collection.put(a="the red ship of the crew sails west and the anchor holds", b="tea is hot")
    assert list(weighings(collection)) == []
    assert collection.vectors.worth("c", model="words") is None
