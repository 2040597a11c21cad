"""Every kind answers under a filter what is left of its answer without one, and lists and counts the same documents."""

import random
import threading
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any, Final, get_args
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from pydantic import TypeAdapter, ValidationError

from querymill import (
    ConversationSearch,
    FileSearch,
    MessageSearch,
    ModuleSearch,
    Querymill,
    ReportSearch,
)
from querymill_shared.contracts.fields import Moment
from querymill_shared.contracts.filters import RESERVED, Filterable, Retriever, passes
from tests.fakes.worker import WorkerProcess
from tests.fixtures import filters
from tests.fixtures.deployment import Deployment, finished
from tests.fixtures.people import ASKED_AT, ingestion
from tests.fixtures.short_forms import all_at_night

KINDS: tuple[Retriever, ...] = get_args(Retriever)
#: Few enough for the candidates of every kind.
DOCUMENTS: Final = 16
MOMENT: Final = TypeAdapter[Any](Moment)
PATHS: Final = ("a.py", "A.js", "ab/b.py", "中文.md", "%.c", "7", "😀/a.py")
MODULES: Final = ("a", "A", "ab", "b", "vtk.Core.vtkActor")
NAMES: Final = [text for text in filters.TEXTS if text.strip()]


def document(kind: Retriever, number: int, chances: random.Random) -> dict[str, Any]:
    """Return a document, as a line of ingestion, with some metadata and fields that others have too."""
    said = f"the walrus {number} sleeps in the harbour"
    names = chances.sample(filters.METADATA_NAMES, k=3)
    metadata: dict[str, Any] = {
        name: chances.choice([chances.choice(filters.SCALARS), None, chances.sample(filters.SCALARS, k=2), {"tag": 1}])
        for name in names
    }
    named, when = chances.choice([None, *NAMES]), chances.choice(filters.TIMES)
    match kind:
        case "messages" | "conversations":
            message = {"message_id": "m", "role": chances.choice([None, *NAMES]), "text": said, "created_at": when}
            session = {"session_id": f"{chances.choice(NAMES)}{number:02d}", "user_name": named, "started_at": when}
            return metadata | session | {"messages": [message]}
        case "reports":
            identity = {"sha1": f"r{number:02d}", "title": chances.choice(NAMES), "company": named}
            dated = {"period": chances.choice([None, *NAMES]), "published_at": chances.choice([None, *filters.DAYS])}
            return metadata | identity | dated | {"pages": [{"page": 1, "text": said}]}
        case "modules":
            meta = {"vtkjs_modules": chances.sample(MODULES, k=2), "description": said}
            return metadata | {"faiss_id": number, "file_path": chances.choice(PATHS), "code": said, "meta_info": meta}
        case "files":
            return metadata | {"path": f"{number:02d}/{chances.choice(PATHS)}", "content": f"# {said}\n"}


def seen(kind: Retriever, line: Mapping[str, Any]) -> Filterable:
    """Return what a filter sees of a line."""
    fields = {name: line.get(name) for name in RESERVED[kind]}
    metadata = {name: value for name, value in line.items() if name in filters.METADATA_NAMES}
    match kind:
        case "messages" | "conversations":
            fields |= {"role": (line["messages"][0]["role"],), "time": (MOMENT.validate_python(line["started_at"]),)}
        case "reports":
            day = line["published_at"]
            fields |= {"published_at": None if day is None else MOMENT.validate_python(day).date()}
        case "modules":
            fields |= {"path": line["file_path"], "module": tuple(line["meta_info"]["vtkjs_modules"])}
        case "files":
            language = {"py": "python", "js": "javascript", "c": "c"}
            fields |= {"language": language.get(line["path"].rpartition(".")[2])}
    return Filterable(fields, metadata)


def id_of(kind: Retriever, line: Mapping[str, Any]) -> str:
    names = {"reports": "sha1", "modules": "faiss_id", "files": "path"}
    return str(line[names.get(kind, "session_id")])


def search(kind: Retriever, collection: str, conditions: Mapping[str, Any]) -> Any:
    """Return a search for all documents that pass a filter."""
    given = {"collection": collection, "query": "walrus", "filter": conditions}
    match kind:
        case "messages":
            return MessageSearch.model_validate(given | {"limit": 200, "similarity_threshold": None, "hybrid": True})
        case "conversations":
            return ConversationSearch.model_validate(given | {"top_n": 200, "now": ASKED_AT, "time_filter": False})
        case "reports":
            return ReportSearch.model_validate(given | {"top_n": 200})
        case "modules":
            return ModuleSearch.model_validate(given | {"top_k": 100, "candidates": 100, "channels": ["text"]})
        case "files":
            return FileSearch.model_validate(given | {"top_n": 200, "return_low": True})


def found(mill: Querymill, kind: Retriever, collection: str, conditions: Mapping[str, Any]) -> list[str]:
    """Return the ids of all documents that a search finds, each once."""
    result = mill.submit(search(kind, collection, conditions)).result(timeout=60)
    hits = [*result.results, *getattr(result, "low", ())]
    names = {"reports": "document", "modules": "document", "files": "path"}
    return sorted({str(getattr(hit, names.get(kind, "session_id"))) for hit in hits})


@pytest.fixture(scope="module")
def stored(deployment: Deployment, worker: WorkerProcess) -> Iterator[tuple[Querymill, str, dict[Retriever, Any]]]:
    """A collection with documents of every kind, the lines by kind."""
    collection, chances = f"filtered-{uuid4().hex[:8]}", random.Random(7)
    with Querymill(settings=deployment.settings) as mill:
        lines: dict[Retriever, Any] = {}
        for kind in KINDS:
            lines[kind] = [document(kind, number, chances) for number in range(DOCUMENTS)]
            for line in lines[kind]:
                finished(mill, ingestion(kind, collection, line))
        yield mill, collection, lines


@pytest.mark.parametrize("kind", all_at_night(KINDS, short=["reports", "conversations", "modules"]))
def test_a_filter_leaves_what_passes_it_however_conditions_are_combined(
    stored: tuple[Querymill, str, dict[Retriever, Any]], kind: Retriever
) -> None:
    mill, collection, lines = stored
    everything = {id_of(kind, line): seen(kind, line) for line in lines[kind]}
    assert found(mill, kind, collection, {}) == sorted(everything), "without a filter all are found"

    @settings(suppress_health_check=list(HealthCheck), database=None)
    @given(filters.filters(dict(RESERVED[kind])))
    def holds(conditions: dict[str, Any]) -> None:
        try:
            search(kind, collection, conditions)
        except ValidationError:
            return  # a condition that the field cannot have
        wanted = sorted(id_ for id_, document in everything.items() if passes(conditions, document))
        listed = mill.list(kind, collection=collection, filter=conditions, limit=100)
        assert ([card.id for card in listed.documents], listed.total) == (wanted, len(wanted)), conditions
        assert found(mill, kind, collection, conditions) == wanted, conditions

    holds()


def write_on(mill: Querymill, kind: Retriever, collection: str, stop: threading.Event) -> None:
    """Store documents of every team, and drop half of them again, until it is enough."""
    chances = random.Random(13)
    for number in count(DOCUMENTS):
        if stop.is_set():
            return
        line = document(kind, number, chances) | {"team": ("red", "blue", "green")[number % 3]}
        finished(mill, ingestion(kind, collection, line))
        if number % 2:
            mill.drop(kind, collection=collection, ids=[id_of(kind, line)])


def pages_of(mill: Querymill, kind: Retriever, collection: str) -> list[str]:
    """Return the ids of a list of a team, read page by page."""
    ids: list[str] = []
    cursor: str | None = None
    while True:
        page = mill.list(kind, collection=collection, filter={"team": "red"}, limit=3, cursor=cursor)
        ids += [card.id for card in page.documents]
        cursor = page.cursor
        if cursor is None:
            return ids


@pytest.mark.parametrize("kind", all_at_night(KINDS, short=["messages", "modules"]))
def test_a_list_under_a_filter_is_whole_while_others_write(
    stored: tuple[Querymill, str, dict[Retriever, Any]], kind: Retriever
) -> None:
    mill, _, _ = stored
    collection, chances = f"paged-{uuid4().hex[:8]}", random.Random(11)
    for number in range(DOCUMENTS):
        line = document(kind, number, chances) | {"team": ("red", "blue")[number % 2]}
        finished(mill, ingestion(kind, collection, line))
    before = pages_of(mill, kind, collection)
    assert len(before) == DOCUMENTS // 2
    stop = threading.Event()
    writer = threading.Thread(target=write_on, args=(mill, kind, collection, stop))
    writer.start()
    try:
        for _ in range(5):
            ids = pages_of(mill, kind, collection)
            assert ids == sorted(set(ids)), "each once, in order"
            assert set(before) <= set(ids), "none of those that stayed is missing"
    finally:
        stop.set()
        writer.join()
