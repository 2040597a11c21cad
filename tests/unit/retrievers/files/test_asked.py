"""What a request names and limits, as jobs in memory: paths, names, folders, kinds, and other languages."""

import pytest

from querymill_shared.contracts.files.search import FileResult, FileSearch
from tests.fixtures.code_base import PROFILES, put
from tests.fixtures.world import World

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
