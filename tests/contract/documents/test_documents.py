"""Documents of every retriever: listed, filtered, exported and dropped, in memory and on the servers."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import pytest

from querymill_shared.contracts.modules.learn import LearnLexicon
from querymill_shared.contracts.sessions import ChatSession
from querymill_workers.dispatch.ports import Ports
from querymill_workers.documents.ports import Body, Documents
from querymill_workers.retrievers.files.compare import drop_files
from querymill_workers.retrievers.files.stores.memory import MemoryFiles
from querymill_workers.retrievers.messages.ingest import prepare_session
from querymill_workers.retrievers.modules.rules.documents import read_id, shown_id
from querymill_workers.vectors.ports import RefusedEmbedding
from tests.fixtures.document_suite import LATER, DocumentSuite, ports_on


class TestFiles(DocumentSuite):
    retriever = "files"
    size = (11, "bytes")
    reserved: ClassVar = [
        ({"path": {"prefix": "2/src"}}, [2]),
        ({"language": "python"}, [0, 1, 2, 4]),
        ({"language": None}, [3]),
    ]

    def document(self, number: int, **metadata: Any) -> dict[str, Any]:
        path = f"{number}/src/a.py" if number % 2 == 0 else f"{number}/lib/a.py" if number < 3 else "3/lib/a.txt"
        return {"path": path, "content": f"def f{number}(): 1", **metadata}

    def id_of(self, document: Mapping[str, Any]) -> str:
        return str(document["path"])

    def test_searches_among_paths_see_no_other_file(self, ports: Ports, collection: str) -> None:
        self.put(ports, collection, [{"path": f"{n}.py", "content": "def soup(): pass"} for n in range(4)])
        files, among = ports.files, ["2.py", "never.py"]
        assert list(files.glob(collection, "*.py", limit=9, paths=among))[:1] == ["2.py"]
        found = files.matching(collection, "soup", limit=9, time_s=20, paths=among).hits
        assert [hit.path for hit in found] == ["2.py"]
        named = files.named(collection, ["soup"], roles=["definition"], limit=1, paths=among)
        assert [place.path for place in named] == ["2.py"]

    def test_what_is_stored_of_a_file_changes_together_or_not_at_all(self, ports: Ports, collection: str) -> None:
        if isinstance(ports.files, MemoryFiles):
            pytest.skip("a store in memory rolls nothing back")
        self.put(ports, collection, [{"path": "a.py", "content": "soup"}])

        class Died(BaseException):
            pass

        def dying(*_: object, **__: object) -> None:
            raise Died

        for broken in (ports.words, ports.files, ports.documents["files"]):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(broken, "put", dying)
                with pytest.raises(Died):
                    self.put(ports, collection, [{"path": "a.py", "content": "ship"}])
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(broken, "drop", dying)
                with pytest.raises(Died):
                    drop_files(collection, ["a.py"], LATER, ports)
            assert ports.bodies["files"].whole(collection, ["a.py"]) == {"a.py": {"path": "a.py", "content": "soup"}}
            assert list(ports.documents["files"].ids(collection, {})) == ["a.py"]
            assert [hit.id for hit in ports.words.search(collection, "files", "soup", limit=9)] == ["a.py"]
            assert ports.words.search(collection, "files", "ship", limit=9) == []


class TestReports(DocumentSuite):
    retriever = "reports"
    size = (2, "pages")
    reserved: ClassVar = [
        ({"company": "Acme"}, [0, 1, 2, 3, 4]),
        ({"title": {"prefix": "Report 3"}}, [3]),
        ({"period": None}, [0, 1, 2, 3, 4]),
        ({"published_at": "2023-03-04"}, [4]),
        ({"published_at": {"from": "2023-02-28", "to": "2023-03-01"}}, [1]),
        ({"published_at": None}, [0]),
    ]

    def document(self, number: int, **metadata: Any) -> dict[str, Any]:
        pages = [{"page": 1, "text": f"nine ships of {number}"}, {"page": 2, "text": "soup"}]
        published = {"published_at": f"2023-03-0{number}"} if number else {}
        return {
            "sha1": f"r{number}",
            "title": f"Report {number}",
            "company": "Acme",
            **published,
            "pages": pages,
            **metadata,
        }

    def id_of(self, document: Mapping[str, Any]) -> str:
        return str(document["sha1"])

    def test_a_report_without_a_company_comes_back_as_it_was(self, ports: Ports, body: Body, collection: str) -> None:
        report = {name: value for name, value in self.document(1).items() if name != "company"}
        self.put(ports, collection, [report])
        assert body.whole(collection, ["r1"])["r1"] == {**report, "aliases": []}
        assert [card.company for card in ports.reports.cards(collection)] == [None]

    def test_dropping_takes_the_words_and_what_was_refused(self, ports: Ports, collection: str) -> None:
        ids, vectors = self.put_teams(ports, collection), ports.vectors["reports"]
        refused = vectors.pending(collection, model="words", limit=99, documents=[ids[0]])
        vectors.fill(collection, dict.fromkeys(refused, RefusedEmbedding("HTTP 400")), model="words")
        self.drop(ports, collection, ids[0])
        assert len(ports.words.search(collection, "reports", "soup", limit=99)) == 4
        assert vectors.count_refused(collection) == 0


AT = "2026-01-01T10:00:00Z"


def session(number: int, **metadata: Any) -> dict[str, Any]:
    """A session of two messages, the second of them a day later for each number."""
    role = {} if number == 2 else {"role": "tool" if number == 3 else "user"}
    return {
        "session_id": f"s{number}", "name": f"Session {number}", "started_at": "2026-01-01T10:00:00Z",
        **({"user_name": "Ada"} if number % 2 else {}),
        "messages": [
            {"message_id": "a", "text": f"ships {number}", "created_at": "2026-01-01T10:00:00Z", **role},
            {"message_id": "b", "text": "nine", "created_at": f"2026-01-0{number + 1}T12:00:00Z", **role},
        ],
        **metadata,
    }  # fmt: skip


#: The same for both retrievers of sessions.
OF_SESSIONS: list[tuple[dict[str, Any], list[int]]] = [
    ({"user_name": "Ada"}, [1, 3]),
    ({"user_name": None}, [0, 2, 4]),
    ({"user_name": {"from": "A", "to": "B"}, "role": "tool"}, [3]),
    ({"role": ["user", "tool"]}, [0, 1, 3, 4]),
    ({"role": None}, [2]),
    ({"session_id": {"prefix": "s3"}}, [3]),
    ({"session_id": {"from": "s3"}}, [3, 4]),
]


class SessionSuite(DocumentSuite):
    """The suite of both."""

    size = (2, "messages")

    def document(self, number: int, **metadata: Any) -> dict[str, Any]:
        return session(number, **metadata)

    def id_of(self, document: Mapping[str, Any]) -> str:
        return str(document["session_id"])


class TestMessages(SessionSuite):
    retriever = "messages"
    reserved: ClassVar = [*OF_SESSIONS, ({"time": "2026-01-01"}, [0, 1, 2, 3, 4]), ({"time": "2026-01-05"}, [])]

    def test_an_export_is_what_ingestion_reads_and_stores_unchanged(
        self, ports: Ports, documents: Documents, body: Body, collection: str
    ) -> None:
        messages = [
            {"message_id": "a", "role": "user", "text": "nine ships", "created_at": AT, "tags": ["x"]},
            {"text": "", "created_at": AT},
            {"text": " ".join(f"rope {number}" for number in range(2_000)), "created_at": AT},
        ]
        self.put(ports, collection, [session(0) | {"messages": messages, "mood": "calm"}])
        (line,) = body.whole(collection, ["s0", "unknown"]).values()
        revision = prepare_session(ChatSession.model_validate(line)).revision
        assert documents.revisions(collection) == {"s0": revision}
        (card,) = self.cards(ports, collection)
        assert (card.size, card.metadata, card.pending) == (3, {"mood": "calm"}, 34)

    def test_a_dropped_session_leaves_no_word_and_nothing_refused(self, ports: Ports, collection: str) -> None:
        (dropped, *_), vectors = self.put_teams(ports, collection), ports.vectors["messages"]
        refused = vectors.pending(collection, model="words", limit=99, documents=[dropped])
        vectors.fill(collection, dict.fromkeys(refused, RefusedEmbedding("HTTP 400")), model="words")
        assert self.drop(ports, collection, dropped) == len(refused)
        assert len(ports.words.search(collection, "messages", "ships", limit=9)) == 4
        assert vectors.count_refused(collection) == 0


class TestConversations(SessionSuite):
    retriever = "conversations"
    reserved: ClassVar = [
        *OF_SESSIONS,
        ({"time": "2026-01-05"}, [4]),
        ({"time": {"from": "2026-01-02", "to": "2026-01-03"}}, [1, 2]),
        ({"time": {"from": "2026-01-03T12:00:00.000001Z"}}, [3, 4]),
        ({"time": None}, []),
    ]


def code(document: int | str, *names: str, description: str = "", **metadata: Any) -> dict[str, Any]:
    identity = (
        {"faiss_id": document, "file_path": f"{document}.js"} if isinstance(document, int) else {"file_path": document}
    )
    meta_info = {"vtkjs_modules": list(names), "description": description}
    return {**identity, "code": f"run({document!r})", "meta_info": meta_info, **metadata}


class TestModules(DocumentSuite):
    retriever = "modules"
    size = (6, "characters")
    reserved: ClassVar = [
        ({"module": "vtkConeSource"}, [0, 1, 2, 3, 4]),
        ({"module": {"prefix": "vtk.Filters."}}, [0, 1, 2, 3, 4]),
        ({"module": ["vtkPlane", "vtkMapper"]}, [3]),
        ({"path": {"prefix": "2"}, "module": "vtkConeSource"}, [2]),
    ]

    @pytest.fixture(params=["memory", "postgres", "mongo"])
    def ports(self, request: pytest.FixtureRequest) -> Iterator[Ports]:
        yield from ports_on(request.param, request)

    def document(self, number: int, **metadata: Any) -> dict[str, Any]:
        more = ["vtkPlane"] if number == 3 else []
        return code(number, "vtk.Filters.vtkConeSource", *more, description=f"a cone {number}", **metadata)

    def id_of(self, document: Mapping[str, Any]) -> str:
        return str(document["faiss_id"])

    def test_numbers_and_paths_that_look_alike_are_different_documents(
        self, ports: Ports, documents: Documents, body: Body, collection: str
    ) -> None:
        self.put(ports, collection, [code(document, "vtkActor") for document in (0, "0", "a b.js")])
        assert list(documents.ids(collection, {})) == ['"0"', "0", "a b.js"]
        assert self.drop(ports, collection, '"0"') == 1
        assert list(body.whole(collection, ["0", '"0"', "a b.js"])) == ["0", "a b.js"]

    def test_a_dropped_document_takes_its_words_and_has_the_lexicon_learned_again(
        self, ports: Ports, collection: str
    ) -> None:
        self.put_teams(ports, collection)
        self.drop(ports, collection, "1")
        assert len(ports.words.search(collection, "modules", "cone", limit=9)) == 4
        requests = [ports.board.picture(job_id).request for job_id in ports.board.recent(limit=99)]
        assert LearnLexicon(collection=collection, background=True) in requests


@pytest.mark.parametrize("document", [0, -7, "0", "a.js", '"a.js"', '"', "-7", "文.js", "1.js"])
def test_an_id_is_read_as_it_was_shown(document: int | str) -> None:
    assert read_id(shown_id(document)) == document
