"""Many documents in one job, on real servers and a real worker: each fares as it would in a job of its own."""

from typing import Any
from uuid import uuid4

import pytest

from querymill import Querymill
from querymill_shared.contracts.filters import Retriever
from tests.fakes.worker import WorkerProcess
from tests.fixtures.loading import LOADED, id_of, load_of, search_of
from tests.fixtures.short_forms import all_at_night


@pytest.fixture
def collection(worker: WorkerProcess) -> str:
    return f"load-{uuid4().hex[:8]}"


def loaded(mill: Querymill, kind: Retriever, collection: str, **words: str) -> dict[str, str]:
    """Load documents, wait for their vectors, and return their outcomes by name."""
    request: Any = load_of(kind, collection, words)
    result = mill.submit(request).result(timeout=30)
    for job_id in result.embedding_jobs:
        assert mill.job(job_id).result(timeout=30).complete
    names = {id_of(kind, name): name for name in words}
    assert [document.document for document in result.documents] == list(names)
    return {names[document.document]: document.outcome for document in result.documents}


def found(mill: Querymill, kind: Retriever, collection: str, word: str) -> int:
    request: Any = search_of(kind, collection, word)
    hits = mill.submit(request).result(timeout=30).results
    return sum(f"the {word} of" in hit.model_dump_json() for hit in hits)


@pytest.mark.parametrize("kind", all_at_night(LOADED, short=["reports", "conversations"]))
def test_documents_of_one_job_are_stored_found_and_replaced_one_by_one(
    mill: Querymill, kind: Retriever, collection: str
) -> None:
    assert loaded(mill, kind, collection, a="herring", b="walrus") == {"a": "ingested", "b": "ingested"}
    assert [found(mill, kind, collection, word) for word in ("herring", "walrus", "ermine")] == [1, 1, 0]
    assert loaded(mill, kind, collection, b="ermine", a="herring", c="walrus") == {
        "b": "ingested", "a": "unchanged", "c": "ingested",
    }  # fmt: skip
    assert [found(mill, kind, collection, word) for word in ("herring", "walrus", "ermine")] == [1, 1, 1]
    assert mill.list(kind, collection=collection).total == 3


@pytest.mark.parametrize("kind", all_at_night(LOADED, short=["reports", "conversations"]))
def test_what_was_forgotten_is_loaded_anew_and_the_others_stay(
    mill: Querymill, kind: Retriever, collection: str
) -> None:
    loaded(mill, kind, collection, a="herring", b="walrus")
    mill.drop(kind, collection=collection, ids=[id_of(kind, "a")])
    assert [found(mill, kind, collection, word) for word in ("herring", "walrus")] == [0, 1]
    assert loaded(mill, kind, collection, a="herring", b="walrus") == {"a": "ingested", "b": "unchanged"}
    assert [found(mill, kind, collection, word) for word in ("herring", "walrus")] == [1, 1]
