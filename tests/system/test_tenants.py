"""Two collections on one deployment: neither takes the other's time, nor changes its answers."""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest

from querymill import (
    ConversationSearch,
    FileSearch,
    IngestConversations,
    IngestConversationsResult,
    IngestFiles,
    IngestMessages,
    IngestMessagesResult,
    IngestModules,
    IngestReports,
    Job,
    LearnLexicon,
    MessageSearch,
    ModuleDocument,
    ModuleSearch,
    Querymill,
    Report,
    ReportSearch,
    SourceFile,
)
from querymill_shared.contracts.vectors import EmbedDocuments
from tests.fakes.few_at_a_time import FewAtATime
from tests.fakes.openai_server import OpenAIServer
from tests.fakes.worker import WorkerProcess
from tests.fixtures.chats import session
from tests.fixtures.deployment import COLLECTION, Deployment, finished
from tests.fixtures.short_forms import named_at_night
from tests.fixtures.tallies import until

LONG = "what did the fleet report about the harbour in the winter of that year and why "


@pytest.fixture(scope="module")
def second_worker(deployment: Deployment) -> Iterator[WorkerProcess]:
    """Another process of the fleet, so that it has threads enough for a flood of questions."""
    with WorkerProcess(deployment.environment, queues="search,expand", threads=64) as process:
        yield process


@pytest.fixture
def tenants(
    worker: WorkerProcess, second_worker: WorkerProcess, mill: Querymill, openai_server: OpenAIServer
) -> tuple[str, str]:
    """Two collections of one message each, with its vector."""
    names = (f"hog-{uuid4().hex[:8]}", f"shy-{uuid4().hex[:8]}")
    for name in names:
        ingested = mill.submit(
            IngestMessages(collection=name, documents=(session("s", "the fleet counts nine ships"),))
        ).result(timeout=20)
        assert ingested.embedding_jobs
        mill.job(ingested.embedding_jobs[0]).result(timeout=20)
    return names


def long_question(number: int) -> str:
    """Return a question of 8,000 characters that nobody has asked before."""
    return f"{number} {uuid4().hex} {LONG * 110}"[:8_000]


def long_texts(requests: list[dict[str, Any]]) -> int:
    """Count the long questions in what the provider was sent."""
    return sum(LONG[:40] in text for request in requests for text in request["input"])


FLOODS: dict[str, Callable[[str, str], MessageSearch | ReportSearch]] = {
    "answered by words after a while": lambda query, hog: MessageSearch(query=query, collection=hog),
    "patient": lambda query, _: ReportSearch(query=query, collection=COLLECTION),
}


@pytest.mark.usefixtures("filings")
@pytest.mark.parametrize("flood", named_at_night(FLOODS, short=["patient"]))
def test_a_short_question_is_answered_soon_while_another_tenants_long_ones_wait(
    mill: Querymill,
    openai_server: OpenAIServer,
    tenants: tuple[str, str],
    flood: Callable[[str, str], MessageSearch | ReportSearch],
) -> None:
    hog, shy = tenants
    openai_server.script.embeddings = provider = FewAtATime(s_per_token=0.0003)
    long = [mill.submit(flood(long_question(number), hog)) for number in range(60)]
    for _ in range(3):
        until(lambda: provider.most_inside >= 2, within_s=10)
        before = len(openai_server.seen("embeddings"))
        waiting = len(long) - long_texts(openai_server.seen("embeddings")[:before])
        question = f"how many ships {uuid4().hex}"
        query = MessageSearch(query=question, collection=shy, similarity_threshold=None)
        answer = mill.submit(query).result(timeout=20)
        # Without a vector in time the mode would be "text".
        assert (answer.mode, answer.complete, [hit.message_id for hit in answer.results]) == ("hybrid", True, ["a"])
        sent = openai_server.seen("embeddings")[before:]
        place = next(place for place, request in enumerate(sent) if any(question in text for text in request["input"]))
        passed = long_texts(sent[:place])
        # First come, first served, nearly all that wait would pass. A slow machine lets some through until the
        # short one has reached its worker, so the bound is a share of those and no fixed number.
        assert passed <= waiting // 2, "the long ones that stood there first let it through"
        if isinstance(long[0].picture().request, MessageSearch):
            break
    for job in long:
        assert job.result(timeout=30).state == "done"
    lengths = [len(text) for request in openai_server.seen("embeddings") for text in request["input"]]
    assert max(lengths) < 4_000, "no text travels beyond the model's input"


def fill(mill: Querymill, collection: str, mark: str, *, copies: int = 1) -> None:
    """Ingest documents of every kind that share most of their words with those of other collections."""
    texts = [f"the fleet {mark} counts nine ships", f"revenue of {mark} rose to forty million", "soup for lunch"]
    jobs: list[Job[Any]] = []
    for copy in range(copies):
        pages = [{"page": page, "text": f"{text} {copy}"} for page, text in enumerate(texts, start=1)]
        report = {"sha1": f"r{copy}", "title": f"{mark} 2022", "company": "Nordhav", "period": "2022", "pages": pages}
        finished(mill, IngestReports(collection=collection, documents=(Report.model_validate(report),)))
        jobs += [
            mill.submit(IngestMessages(collection=collection, documents=(session(f"s{copy}", *texts),))),
            mill.submit(IngestConversations(collection=collection, documents=(session(f"s{copy}", *texts),))),
            mill.submit(IngestModules(collection=collection, documents=(module_document(copy, mark),))),
        ]
    files = (
        SourceFile(
            path="fleet/ships.py", content=f"class Fleet:\n    def count_ships(self):\n        return {mark!r}\n"
        ),
        SourceFile(path="soup.py", content="def lunch():\n    return 'soup'\n"),
    )
    jobs.append(mill.submit(IngestFiles(collection=collection, documents=files)))
    for job in jobs:
        result = job.result(timeout=60)
        if isinstance(result, IngestMessagesResult | IngestConversationsResult) and result.embedding_jobs:
            mill.job(result.embedding_jobs[0]).result(timeout=60)
    mill.submit(EmbedDocuments(collection=collection, retriever="files")).result(timeout=60)
    mill.submit(LearnLexicon(collection=collection)).result(timeout=60)


def module_document(number: int, mark: str) -> ModuleDocument:
    return ModuleDocument.model_validate({
        "faiss_id": number, "file_path": f"{number}.js", "code": f"run('{mark}')",
        "meta_info": {"vtkjs_modules": ["vtkConeSource"], "description": f"count the ships of {mark}"},
    })  # fmt: skip


def questions(collection: str) -> list[Any]:
    """Ask every kind, spelt right and wrong, about what both collections have and what only one has."""
    asked = ["how many ships counts the fleet", "revenu of zebrafish", "anchovy", "lunch with soup", "2022 Nordhav"]
    now = datetime(2026, 2, 1, tzinfo=UTC)
    return [
        request
        for query in asked
        for request in (
            ReportSearch(query=query, collection=collection),
            MessageSearch(query=query, collection=collection, similarity_threshold=None, include_context=True),
            MessageSearch(query=query, collection=collection, hybrid=True, similarity_threshold=0.2),
            ConversationSearch(query=query, collection=collection, now=now),
            ModuleSearch(query=query, collection=collection),
            FileSearch(query=query, collection=collection, channels=("words", "vectors")),
        )
    ]


#: A lexicon is learned in the background, too: its version may rise while its words stay.
OF_ONE_RUN = {"job_id", "timing", "stages", "usage", "costs", "prompt", "lexicon_version"}


def answer_of(mill: Querymill, request: Any) -> dict[str, Any]:
    """Return all of a result that is not about this one run. A prompt has new fences each time."""
    result = mill.submit(request).result(timeout=30)
    return result.model_dump(mode="json", exclude=OF_ONE_RUN)  # type: ignore[no-any-return]


def test_another_collection_changes_no_answer_not_even_at_the_same_time(
    mill: Querymill, tenants: tuple[str, str]
) -> None:
    first, second = (f"{name}-docs" for name in tenants)
    fill(mill, first, "zebrafish")
    alone = [answer_of(mill, request) for request in questions(first)]
    assert sum(bool(answer["results"]) for answer in alone) > len(alone) / 2
    fill(mill, second, "anchovy", copies=3)
    for request, before in zip(questions(first), alone, strict=True):
        assert answer_of(mill, request) == before
    others = [answer_of(mill, request) for request in questions(second)]
    both = [*zip(questions(first), alone, strict=True), *zip(questions(second), others, strict=True)]
    both = [pair for number in range(len(alone)) for pair in both[number :: len(alone)]] * 2
    with ThreadPoolExecutor(12) as pool:
        together = list(pool.map(lambda pair: answer_of(mill, pair[0]), both))
    for answer, (_, before) in zip(together, both, strict=True):
        assert answer == before
    assert not [answer for answer in alone if "fleet anchovy" in json.dumps(answer["results"])]
    assert not [answer for answer in others if "fleet zebrafish" in json.dumps(answer["results"])]
