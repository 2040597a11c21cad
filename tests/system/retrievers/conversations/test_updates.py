"""Live messages of one session that all come at once, on several workers: none is lost, and each is found."""

from collections.abc import Iterator
from contextlib import ExitStack
from string import ascii_lowercase
from uuid import uuid4

import pytest

from querymill import ConversationSearch, Extend, JobFailed, Querymill
from querymill_shared.settings import Settings
from querymill_workers.postgres.connection import open_pool
from querymill_workers.retrievers.conversations.stores.postgres import PostgresConversations
from tests.fakes.worker import WorkerProcess
from tests.fixtures.deployment import Deployment

UPDATES, WORKERS, THREADS = 40, 2, 12
#: A word that only one of the messages has.
WORDS = [f"kestrel{ascii_lowercase[number % 26]}{ascii_lowercase[number // 26]}" for number in range(UPDATES)]


@pytest.fixture
def crowd(deployment: Deployment) -> Iterator[Querymill]:
    """A board of its own, which no other worker serves, and workers of many threads."""
    board = {"REDIS_URL": deployment.environment["REDIS_URL"].removesuffix("/2") + "/5"}
    environment = deployment.environment | board
    settings = Settings.model_validate({name.lower(): value for name, value in environment.items()})
    with ExitStack() as running:
        for _ in range(WORKERS):
            running.enter_context(WorkerProcess(environment, threads=THREADS))
        yield running.enter_context(Querymill(settings=settings))


def update(collection: str, number: int) -> Extend:
    message = {"message_id": str(number), "text": WORDS[number], "created_at": "2026-01-01T10:00:00Z"}
    return Extend.model_validate({
        "collection": collection, "retriever": "conversations", "documents": [{"session_id": "s", "messages": [message]}
    ]})  # fmt: skip


@pytest.mark.nightly  # by day: the words of several at once, contract/retrievers
def test_updates_of_one_session_at_once_are_all_done_stored_and_found(crowd: Querymill, database_url: str) -> None:
    collection = f"talks-{uuid4().hex[:12]}"
    jobs = [crowd.submit(update(collection, number)) for number in range(UPDATES)]
    failed = []
    for job in jobs:
        try:
            job.result(90)
        except JobFailed as error:
            failed.append(str(error))
    with open_pool(database_url, max_size=1) as pool:
        known = PostgresConversations(pool).stored(collection, "s")
    stored = set() if known is None else {message.text for message in known.session.messages}
    asked = [
        crowd.submit(ConversationSearch(collection=collection, query=word, spelling=False, expansion=False))
        for word in WORDS
    ]
    found = {word for word, job in zip(WORDS, asked, strict=True) if job.result(40).results}
    assert (failed, set(WORDS) - stored, set(WORDS) - found) == ([], set(), set())
