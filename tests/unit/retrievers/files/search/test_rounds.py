"""The rounds of a search, read from the picture of a job."""

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_shared.board import Picture, Record, Step
from querymill_shared.contracts.files.search import FileSearch
from querymill_shared.contracts.files.steps import FileStep
from querymill_workers.retrievers.files.rules.candidates import SHARD
from querymill_workers.retrievers.files.search.rounds import Round, evaluated_files, next_steps, rounds_of

ASKED = FileSearch(query="q", collection="c")


def picture_of(*steps: Step) -> Picture:
    record = Record("j", "files", "c", "interactive", "running", 0.0, None, None, "", 0)
    return Picture(record, steps, {}, {}, ASKED)


def done(name: str, **notes: Any) -> Step:
    return Step(name, "done", 1, notes=notes)


def failed(name: str) -> Step:
    return Step(name, "failed", 1, "away", notes={"dead": False})


def evaluated_file(relevance: float) -> dict[str, Any]:
    evidence = {"lexical": relevance, "covered": 0, "path": 0, "names": 0, "passage": 0, "vector": None}
    return {
        "evidence": evidence, "relevance": relevance, "tokens": 1, "excerpt": [], "excerpt_tokens": 1, "words": [],
        "names": [],
    }  # fmt: skip


def read(*steps: Step) -> list[Round]:
    return rounds_of(picture_of(*steps), limit=ASKED.candidates)


def follow(*steps: Step, plans: bool = True) -> list[str]:
    return [str(place) for place in next_steps(read(*steps), plans=plans)]


FOUND = done("search-1-words", found={"words": [f"{number:02}.py" for number in range(15)]})
EVALUATED = done("evaluate-1-01", files={"00.py": evaluated_file(0.9)})


def test_candidates_are_evaluated_in_shards() -> None:
    assert follow(FOUND) == ["evaluate-1-01", "evaluate-1-02"]


def test_a_search_that_found_nothing_is_planned_at_once() -> None:
    assert follow(done("search-1-words", found={"words": []})) == ["plan-1"]


def test_one_search_that_came_through_is_enough_to_go_on() -> None:
    assert follow(failed("search-1-vectors"), FOUND) == ["evaluate-1-01", "evaluate-1-02"]
    assert follow(failed("search-1-vectors"), failed("search-1-words")) == []


def test_an_evaluated_round_is_planned_but_in_one_shot() -> None:
    assert follow(FOUND, EVALUATED) == ["plan-1"]
    assert follow(FOUND, EVALUATED, plans=False) == []


@pytest.mark.parametrize(
    ("names", "steps"),
    [
        (["aaa"], ["search-2-01"]),
        (["aaa"] * 4, ["search-2-01"]),
        (["aaa"] * 5, ["search-2-01", "search-2-02"]),
        (["aaa"] * 10, ["search-2-01", "search-2-02", "search-2-03"]),
    ],
)
def test_a_plan_is_followed_by_searches_for_its_names(names: list[str], steps: list[str]) -> None:
    assert follow(FOUND, EVALUATED, done("plan-1", patterns=names, gaps=[], stop=None)) == steps


def test_a_plan_that_stops_or_failed_ends_the_search() -> None:
    assert follow(FOUND, EVALUATED, done("plan-1", patterns=[], gaps=[], stop="enough")) == []
    assert follow(FOUND, EVALUATED, failed("plan-1")) == []


def test_steps_of_a_later_release_are_in_no_round() -> None:
    (only,) = read(FOUND, done("merge-1-01"), done("summary"))
    assert [step.name for step in (*only.searches, *only.evaluations)] == ["search-1-words"]


def test_an_evaluation_counts_once_and_only_for_its_candidates() -> None:
    steps = [
        done("search-1-words", found={"words": ["a.py"]}),
        done("evaluate-1-01", files={"a.py": evaluated_file(0.9), "stray.py": evaluated_file(1.0)}),
        done("plan-1", patterns=["Mutex"], gaps=[], stop=None),
        done("search-2-01", found={"name Mutex": ["a.py", "b.py"]}),
        done("evaluate-2-01", files={"a.py": evaluated_file(0.1), "b.py": evaluated_file(0.6)}),
    ]
    rounds = read(*steps)
    files = evaluated_files(rounds)
    assert {path: (file.round, file.relevance) for path, file in files.items()} == {"a.py": (1, 0.9), "b.py": (2, 0.6)}
    assert files["b.py"].candidate.found_by == ("name Mutex",)
    assert [candidate.path for candidate in rounds[1].candidates] == ["b.py"]
    assert rounds[1].queries == ("name Mutex",)


PATHS = st.lists(st.integers(0, 60).map(lambda number: f"{number:02}.py"), max_size=50, unique=True)


@given(PATHS, PATHS, PATHS, st.randoms())
def test_every_worker_that_looks_at_a_job_finds_the_same_rounds_and_next_steps(
    words: list[str], vectors: list[str], patterns: list[str], chance: random.Random
) -> None:
    steps = [
        done("search-1-words", found={"words": words}),
        done("search-1-vectors", found={"vectors": vectors}),
        done("search-1-patterns", found={"glob *.py": patterns}),
    ]
    mixed = list(steps)
    chance.shuffle(mixed)
    rounds = read(*steps)
    assert read(*mixed) == rounds
    places = next_steps(rounds, plans=True)
    count = len(rounds[0].candidates)
    assert count == min(len({*words, *vectors, *patterns}), ASKED.candidates)
    assert places == (
        [FileStep("evaluate", 1, part + 1) for part in range(-(-count // SHARD))] or [FileStep("plan", 1)]
    )
