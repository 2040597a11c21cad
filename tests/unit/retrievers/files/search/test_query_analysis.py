"""What a request asks: its text, and as jobs in memory the paths, names, folders and kinds that it names."""

import pytest

from querymill_shared.contracts.files.search import FileResult, FileSearch
from querymill_workers.lexicon import thesauri
from querymill_workers.retrievers.files.rules.intent import intent_of
from querymill_workers.retrievers.files.search.query_analysis import QueryAnalysis, analyze_query
from querymill_workers.text import bm25
from querymill_workers.text.words import words
from tests.fixtures.code_base import PROFILES, put
from tests.fixtures.world import World

THESAURUS = thesauri()["files"]

BASE = {
    "worker/consumer/connection.py": "class Connection:\n    def start(self, c):\n        c.connection = c.connect()\n",
    "worker/gossip.py": "# transport transport error error traceback\ndef gossip():\n    raise KeyError\n",
    "worker/limits.py": "def limit_task(task, rate):\n    return rate\n",
    "tests/test_limits.py": "def test_rate_limit_of_task(task, rate, limit):\n    assert limit, rate\n",
    "docs/limits.md": "The rate limit of a task.\n",
}


@pytest.fixture
def code(world: World) -> World:
    put(world, BASE)
    world.with_ports(file_profiles=PROFILES)
    return world


def paths(world: World, query: str, **options: object) -> list[str]:
    result = world.result(world.run(FileSearch(query=query, collection="code", **options)))  # type: ignore[arg-type]
    assert isinstance(result, FileResult)
    return [hit.path for hit in result.results]


def test_a_path_of_the_request_comes_first(code: World) -> None:
    query = "KeyError: 'No such transport' traceback in worker/consumer/connection.py line 3"
    assert paths(code, query)[0] == "worker/consumer/connection.py"


def test_a_quoted_name_brings_its_definition(code: World) -> None:
    assert "worker/limits.py" in paths(code, "transport error traceback in `limit_task`")[:2]


def test_a_method_that_several_classes_have_brings_none_of_them_to_the_front(world: World) -> None:
    terminal, pidbox = "def reset():\n    return 1\n", "def reset():\n    return 2\n"
    loops = "def synloop(hub, connection):\n    hub.poll(connection)  # synloop on connection error\n"
    put(world, {"term.py": terminal, "pidbox.py": pidbox, "loops.py": loops})
    world.with_ports(file_profiles=PROFILES)
    assert paths(world, "add hub.reset() to synloop on connection error")[0] == "loops.py"
    assert set(paths(world, "what does `reset` do")[:2]) == {"term.py", "pidbox.py"}


def test_tests_and_documentation_stand_below_code_unless_asked_for(code: World) -> None:
    assert paths(code, "rate limit of a task", mode="oneshot")[0] == "worker/limits.py"
    assert paths(code, "which tests check the rate limit of a task")[0] == "tests/test_limits.py"


def test_folders_patterns_and_kinds_limit_what_is_searched(code: World) -> None:
    assert set(paths(code, "rate limit of a task", mode="oneshot", under=("worker",))) == {"worker/limits.py"}
    assert "docs/limits.md" not in paths(code, "rate limit of a task", mode="oneshot", exclude=("*.md",))
    assert paths(code, "rate limit of a task", mode="oneshot", kinds=("documentation",)) == ["docs/limits.md"]


def test_a_chinese_question_finds_english_code(code: World) -> None:
    assert "worker/limits.py" in paths(code, "任务的速率限制在哪里实现", mode="oneshot")


def test_nothing_found_is_degraded_with_the_reason(code: World) -> None:
    result = code.result(code.run(FileSearch(query="zeppelin", collection="code")))
    assert not result.complete
    assert [part.reason for part in result.degraded] == ["no file has a word of the request"]


def analyzed(query: str) -> QueryAnalysis:
    return analyze_query(query, (), THESAURUS)


@pytest.mark.parametrize(
    ("query", "searched"),
    [
        ("python split a string into lines", ["split", "string", "line"]),
        ("drop support for python 3.7 wheels", ["drop", "support", "python", "3.7", "wheel"]),
        ("python imports", ["python", "import"]),
    ],
)
def test_the_name_of_a_language_is_no_topic(query: str, searched: list[str]) -> None:
    assert words(analyzed(query).text) == words(" ".join(searched))


def test_what_is_searched_has_no_frame() -> None:
    assert analyzed("Where is the code that handles expired tokens?").text == "expired tokens?"


def test_only_questions_are_searched_with_synonyms_and_without_everyday_words() -> None:
    assert analyzed("what happens if the queue fails").text.split() == ["what", "if", "the", "queue", "fails"]
    assert analyzed("what happens").text.split() == ["what", "happens"]  # nothing else would be left
    assert "remov" in analyzed("where do we delete sessions").recalled.split()
    assert analyzed("delete sessions happens twice").recalled == "delete sessions happens twice"
    assert analyzed("删除消息").synonyms["msg"] == "messag"


def test_a_chinese_question_is_searched_by_english_words_and_lacks_none_of_its_own() -> None:
    asked = analyzed("任务的速率限制在哪里实现")
    assert asked.is_chinese
    assert {"task", "rate", "limit"} <= set(asked.text.split())
    terms = [bm25.QueryTerm(term, 1, 1) for term in ("task", "rate", "limit")]
    found = bm25.score({"task": 1, "rate": 1, "limit": 1}, 3, terms=terms, statistics=bm25.IndexStatistics(10, 100))
    assert {word for word in intent_of(asked.text, [found]).weights if not word.isascii()} == set()


def test_a_quoted_name_may_have_several_definers_and_a_method_one() -> None:
    assert analyzed("`Limits` and reset()").quoted == {"Limits": 3, "reset": 1}
