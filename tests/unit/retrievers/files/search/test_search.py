"""The iterative search as jobs, in memory: the steps it takes, what it returns, and what goes wrong."""

from dataclasses import replace

import pytest

from querymill_shared.board import Verdict
from querymill_shared.contracts.events import SearchRound
from querymill_shared.contracts.files.search import FileResult, FileSearch
from querymill_workers.dispatch import run_step
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.faults import CallFailed, Unavailable
from querymill_workers.retrievers.files.embed import ask_for_vectors
from querymill_workers.retrievers.files.ports import SPACE
from tests.fakes.vectors import vector_of
from tests.fixtures.code_base import ASKED, BASE, PROFILES, put
from tests.fixtures.world import World


@pytest.fixture
def code(world: World) -> World:
    put(world, BASE)
    world.with_ports(file_profiles=PROFILES)
    return world


def answered(world: World, asked: FileSearch = ASKED) -> FileResult:
    result = world.result(world.run(asked))
    assert isinstance(result, FileResult)
    return result


def rounds_told(world: World, job_id: str) -> list[SearchRound]:
    return [event for _, event in world.board.events(job_id) if isinstance(event, SearchRound)]


def test_the_files_that_speak_of_the_request_come_back_with_why(code: World) -> None:
    result = answered(code)
    first = result.results[0]
    assert (first.path, first.band, first.round) == ("transport/redis.py", "high", 1)
    assert first.found_by == ("words",)
    assert "defines restore_unacked_messages" in first.why
    assert first.explanation["evidence"]["lexical"] == 1.0
    assert result.complete
    assert "utils/colours.py" not in [hit.path for hit in result.results]


@pytest.mark.parametrize(
    ("query", "line"),
    [
        ("ท่าเรือ", "# คำนวณค่าธรรมเนียมท่าเรือต่อวัน"),
        ("ค่าธรรมเนียมท่าเรือ", "# คำนวณค่าธรรมเนียมท่าเรือต่อวัน"),
        ("ភាសា", "# ខ្ញុំរៀនភាសាខ្មែរ"),
        ("ຫຼວງ", "# ນະຄອນຫຼວງວຽງຈັນ"),
        ("ကျောင်း", "# သူသည်ကျောင်းသို့သွားသည်"),
        ("ሰላም", "# ሰላም ለዓለም"),
        ("1234567", "LIMIT = '1,234,567'"),
        ("مدرسه", "# مَدْرَسَة"),
        ("C#", "# as in C#"),
        (".NET", "# for .NET only"),
        ("3.11.2", "# since 3.11.2"),
        ("👍", "print('👍🏽')"),
    ],
)
def test_the_file_with_a_word_within_a_line_is_found(world: World, query: str, line: str) -> None:
    other = "# unrelated\ndef lookup(x):\n    return x[1], 234, 567\n"
    put(world, {"other.py": other, "it.py": f"{line}\ndef fee(b): ...\n"})
    world.with_ports(file_profiles=PROFILES)
    result = answered(world, ASKED.model_copy(update={"query": query}))
    assert [hit.path for hit in result.results][:1] == ["it.py"]


def test_what_high_files_use_is_searched_for_in_the_next_round(code: World) -> None:
    result = answered(code)
    assert "Mutex" in result.rounds[0].gaps
    assert "Mutex" in result.patterns
    assert "name Mutex" in result.rounds[1].queries
    assert result.rounds[1].evaluated == 1  # utils/locking.py, and nothing that was evaluated before
    assert "Mutex" not in result.gaps


def test_no_file_is_evaluated_twice_and_no_pattern_asked_twice(code: World) -> None:
    job_id = code.run(ASKED)
    evaluated = [
        path
        for step in code.board.picture(job_id).steps
        if step.name.startswith("evaluate")
        for path in step.notes["files"]
    ]
    assert len(evaluated) == len(set(evaluated))
    result = code.result(job_id)
    assert isinstance(result, FileResult)
    assert result.files_read == len(evaluated)
    assert len(result.patterns) == len(set(result.patterns))


def test_a_file_that_closes_a_gap_is_judged_by_the_gap_as_well(code: World) -> None:
    job_id = code.run(ASKED.model_copy(update={"return_low": True}))
    notes = {
        path: noted
        for step in code.board.picture(job_id).steps
        if step.name.startswith("evaluate-2")
        for path, noted in step.notes["files"].items()
    }
    locking = notes["utils/locking.py"]
    assert locking["evidence"]["lexical"] == 0.0
    assert locking["relevance"] == 0.5  # medium: none of the words, but what a high file uses
    assert locking["reason"] == "defines Mutex, which transport/redis.py uses"


def test_the_search_says_why_it_stopped(code: World) -> None:
    assert answered(code, ASKED.model_copy(update={"rounds": 1})).stop == "rounds"
    assert len(answered(code).rounds) == 3
    assert answered(code, ASKED.model_copy(update={"query": "zeppelin"})).stop == "no new query"
    put(code, {f"{n}.py": "x = 1\n" * n for n in range(5)}, "other")
    budget = ASKED.model_copy(update={"token_budget": 1_000, "context_budget": 200_000})
    put(code, {"large.py": "restore unacked messages\n" * 2_000})
    assert answered(code, budget).stop == "token budget"


def test_every_round_is_told_as_it_ends(code: World) -> None:
    job_id = code.run(ASKED)
    first, *_, last = rounds_told(code, job_id)
    assert first.round == 1
    assert first.queries == ("words",)
    assert first.evaluated == sum(first.bands.values()) == 3
    assert first.files[0].key == "transport/redis.py"
    assert "Mutex" in first.gaps
    assert first.stop is None
    assert (last.round, last.stop) == (3, "nothing added")


def test_one_shot_ranks_every_candidate_of_one_round_and_asks_no_further(code: World) -> None:
    result = answered(code, ASKED.model_copy(update={"mode": "oneshot"}))
    words = [hit.id for hit in code.words.search("code", SPACE, ASKED.query, limit=50)]
    assert sorted(hit.path for hit in result.results) == sorted(words)
    last = result.results[-1]
    assert (last.path, last.kind) == ("docs/readme.py", "documentation")  # documentation counts less than code
    assert (len(result.rounds), result.stop) == (1, "one shot")


def test_iteration_adds_without_reordering_what_the_first_round_found(code: World) -> None:
    shallow = answered(code, ASKED.model_copy(update={"rounds": 1}))
    deep = answered(code)
    first_round = [hit.path for hit in deep.results if hit.round == 1]
    assert first_round == [hit.path for hit in shallow.results]


def test_low_files_are_kept_aside_and_come_on_request(code: World) -> None:
    put(code, {"faint.py": "messages " + "filler " * 10})
    assert answered(code).low == ()
    low = answered(code, ASKED.model_copy(update={"return_low": True})).low
    assert low
    assert {hit.band for hit in low} == {"low"}


def test_top_n_cuts_and_total_counts(code: World) -> None:
    every = answered(code)
    cut = answered(code, ASKED.model_copy(update={"top_n": 1}))
    assert cut.results == every.results[:1]
    assert cut.total == every.total == len(every.results)


def test_the_context_joins_high_files_within_its_budget(code: World) -> None:
    result = answered(code)
    assert "transport/redis.py" in result.context_files
    assert "restore_visible()" in result.context
    assert answered(code, ASKED.model_copy(update={"context_budget": 0})).context == ""


def test_tokens_are_what_is_handed_over_beside_what_reading_whole_files_would_cost(code: World) -> None:
    result = answered(code)
    cost = result.token_account
    assert cost.spent == cost.context + cost.listing + cost.judged
    assert cost.judged == 0
    assert cost.context == len(result.context.split())
    assert cost.one_shot == sum(
        len(BASE[path].split()) for path in ("transport/redis.py", "transport/virtual.py", "docs/readme.py")
    )
    assert cost.all_candidates >= cost.one_shot
    assert cost.all_candidates >= cost.returned_files >= cost.top_files > 0
    assert cost.grep > 0


def test_patterns_and_globs_bring_candidates_that_the_request_judges(code: World) -> None:
    result = answered(
        code, ASKED.model_copy(update={"patterns": ("def pa.nt",), "globs": ("docs/*.py",), "mode": "oneshot"})
    )
    found = {hit.path: hit for hit in result.results}
    assert found["utils/colours.py"].found_by == ("pattern def pa.nt",)
    assert found["utils/colours.py"].band == "irrelevant"
    assert "glob docs/*.py" in found["docs/readme.py"].found_by


@pytest.mark.parametrize("pattern", ["(a", "a**", r"\pX", "((a{1000}){1000}){1000}"])
def test_a_pattern_that_cannot_be_read_fails_the_job_with_the_rule(code: World, pattern: str) -> None:
    asked = FileSearch(query=ASKED.query, collection="code", patterns=("def", pattern))
    record = code.board.picture(code.run(asked)).record
    assert record.state == "failed"
    assert record.reason.startswith(f"patterns: pattern {pattern!r} cannot be read by RE2: ")


@pytest.mark.parametrize(
    "pattern", [r"\p{L}+nacked", "rest(?i)ORE", "(?<n>visible)", r"\Q.put_back()\E", r"unacked\x{5f}"]
)
def test_patterns_are_read_as_re2_reads_them(code: World, pattern: str) -> None:
    result = answered(code, FileSearch(query="none of it", collection="code", patterns=(pattern,), mode="oneshot"))
    assert result.results
    assert all(hit.found_by == (f"pattern {pattern}",) for hit in result.results)


def test_a_pattern_that_cannot_run_is_named_and_the_rest_is_searched(code: World) -> None:
    result = answered(code, ASKED.model_copy(update={"patterns": ("x*",)}))
    assert result.results
    assert not result.complete
    assert "x*" in result.degraded[0].reason


def test_what_stands_in_a_file_never_becomes_an_expression(code: World) -> None:
    put(
        code,
        {
            "evil.py": "import restore_unacked\ndef restore_messages(): pass\n"
            "unacked = '(a+)+$ .* %s'\nclass Ünïcode: pass\n"
        },
    )
    result = answered(code)
    assert all(pattern.isidentifier() and pattern.isascii() for pattern in result.patterns)


def test_vectors_join_the_search_and_missing_ones_are_named(code: World) -> None:
    model = code.ports.embeddings.model
    ask_for_vectors("code", code.ports)
    pending = code.files.vectors.pending("code", model=model, limit=10)
    asked = ASKED.model_copy(update={"channels": ("words", "vectors")})
    unready = answered(code, asked)
    assert not unready.complete
    assert "5 chunks of files have no vector yet" in unready.degraded[0].reason
    assert unready.results[0].path == "transport/redis.py"
    code.files.vectors.fill("code", {passage: vector_of(passage.text) for passage in pending}, model=model)
    ready = answered(code, asked)
    assert ready.complete
    assert "vectors" in ready.results[0].found_by
    assert ready.results[0].explanation["evidence"]["vector"] > 0
    code.embeddings.max_text_tokens = 2
    assert "the query was cut to the model's input of 2 tokens" in [
        part.reason for part in answered(code, asked).degraded
    ]


def test_without_an_embedding_model_the_words_answer(code: World) -> None:
    ask_for_vectors("code", code.ports)
    code.embeddings.fails_with = CallFailed("embedding: away")
    asked = ASKED.model_copy(update={"channels": ("words", "vectors")})
    result = answered(code, asked)
    assert result.results[0].path == "transport/redis.py"
    assert not result.complete
    assert any("embedding: away" in part.reason for part in result.degraded)


def test_a_judge_gives_the_relevance_and_its_tokens_count(code: World) -> None:
    code.judge.rule = lambda text: 0.9 if "virtual.py" in text else 0.1
    result = answered(code, ASKED.model_copy(update={"evaluator": "judge"}))
    assert [hit.path for hit in result.results] == ["transport/virtual.py"]
    assert result.results[0].relevance == 0.9
    assert result.token_account.judged > 0


def test_without_its_judge_the_default_evaluator_stands_in_and_the_result_says_so(code: World) -> None:
    plain = answered(code)
    code.judge.fails_with = Unavailable("chat model: away")
    result = answered(code, ASKED.model_copy(update={"evaluator": "judge"}))
    assert [hit.path for hit in result.results] == [hit.path for hit in plain.results]
    assert not result.complete
    assert "the default evaluator stands in: chat model: away" in result.degraded[0].reason


def test_a_judge_that_says_nonsense_of_a_file_leaves_it_its_own_relevance(code: World) -> None:
    code.judge.rule = lambda text: 7.0 if "redis.py" in text else None
    result = answered(code, ASKED.model_copy(update={"evaluator": "judge"}))
    assert result.results[0].path == "transport/redis.py"
    assert result.results[0].relevance == 1.0
    assert not result.complete


def test_bells_that_ring_twice_change_nothing(code: World) -> None:
    once = answered(code)
    job_id = code.submit(ASKED)
    bells = [Bell(job_id, step, ASKED.queue_of(step)) for step in ASKED.steps]
    while bells:
        bell = bells.pop(0)
        bells += run_step.run_step(bell, code.ports)
        bells += run_step.run_step(bell, code.ports)
    twice = code.result(job_id)
    assert isinstance(twice, FileResult)
    same = ("results", "patterns", "gaps", "rounds", "stop", "files_read", "token_account", "context")
    assert [getattr(twice, name) for name in same] == [getattr(once, name) for name in same]


def test_a_worker_that_dies_after_its_step_and_before_the_next_is_stood_in_for(code: World) -> None:
    job_id = code.submit(ASKED)
    assert run_step.run_step(Bell(job_id, "search-1-words", ASKED.queue_of("search-1-words")), code.ports)
    # The bells of what follows are lost: what comes due is rung again, and adds nothing a second time.
    picture = code.board.picture(job_id)
    assert [step.name for step in picture.steps] == ["search-1-words", "evaluate-1-01"]
    assert run_step.conclude(picture, code.ports) == []
    code.ring(job_id, ASKED, "evaluate-1-01")
    result = code.result(job_id)
    assert isinstance(result, FileResult)
    assert result.results == answered(code).results


def test_at_the_deadline_the_search_answers_with_what_is_there(code: World) -> None:
    job_id = code.submit(ASKED)
    run_step.run_step(Bell(job_id, "search-1-words", ASKED.queue_of("search-1-words")), code.ports)
    run_step.run_step(Bell(job_id, "evaluate-1-01", ASKED.queue_of("evaluate-1-01")), code.ports)
    run_step.settle_at_deadline(code.board.picture(job_id), code.ports)
    result = code.result(job_id)
    assert isinstance(result, FileResult)
    assert result.results[0].path == "transport/redis.py"
    assert (result.complete, result.stop) == (False, "deadline")
    assert result.degraded[0].stage == "plan-1"


def test_before_any_search_is_in_a_deadline_is_a_failure_with_a_reason(code: World) -> None:
    job_id = code.submit(ASKED)
    run_step.settle_at_deadline(code.board.picture(job_id), code.ports)
    record = code.board.picture(job_id).record
    assert (record.state, record.reason) == ("failed", "no search came through: search-1-words: cut by the deadline")


def test_a_cancelled_search_goes_no_further(code: World) -> None:
    job_id = code.submit(ASKED)
    bells = run_step.run_step(Bell(job_id, "search-1-words", ASKED.queue_of("search-1-words")), code.ports)
    code.board.settle(job_id, Verdict("cancelled"))
    assert [run_step.run_step(bell, code.ports) for bell in bells] == [[]]
    assert code.board.result(job_id) is None


def test_a_store_that_keeps_failing_fails_the_search_with_its_reason(code: World) -> None:
    code.words.fails_with = CallFailed("PostgreSQL: away")
    job_id = code.submit(ASKED)
    for _ in range(3):
        code.ring(job_id, ASKED, "search-1-words")
    record = code.board.picture(job_id).record
    assert (record.state, record.reason) == ("failed", "no search came through: search-1-words: PostgreSQL: away")


def test_no_collection_sees_the_files_of_another(code: World) -> None:
    put(code, {"secret.py": "def restore_unacked_messages(): pass\nclass Mutex: pass\n"}, "other")
    paths = {hit.path for hit in answered(code, ASKED.model_copy(update={"return_low": True})).results}
    assert "secret.py" not in paths


def test_a_file_that_is_gone_meanwhile_is_left_out(code: World) -> None:
    job_id = code.submit(ASKED)
    bells = run_step.run_step(Bell(job_id, "search-1-words", ASKED.queue_of("search-1-words")), code.ports)
    code.files.drop("code", ["transport/redis.py"])
    bells = list(bells)
    while bells:
        bells += run_step.run_step(bells.pop(0), code.ports)
    result = code.result(job_id)
    assert isinstance(result, FileResult)
    assert "transport/redis.py" not in [hit.path for hit in result.results]


def test_a_step_of_a_later_release_waits_for_a_worker_that_knows_it(code: World) -> None:
    job_id = code.submit(ASKED)
    code.board.add_steps(job_id, ["merge-1-01"])
    assert run_step.run_step(Bell(job_id, "merge-1-01", ASKED.queue_of("merge-1-01")), code.ports) == []
    (added,) = (step for step in code.board.picture(job_id).steps if step.name == "merge-1-01")
    assert (added.state, added.notes) == ("waiting", {})
    code.ring(job_id, ASKED, "search-1-words")
    run_step.settle_at_deadline(code.board.picture(job_id), code.ports)
    result = code.result(job_id)
    assert isinstance(result, FileResult)
    assert "merge-1-01" in [part.stage for part in result.degraded]


def test_the_judge_waits_on_its_own_queue() -> None:
    judged = ASKED.model_copy(update={"evaluator": "judge"})
    assert judged.queue_of("evaluate-1-01").value == "rerank"
    assert ASKED.queue_of("evaluate-1-01").value == judged.queue_of("plan-1").value == "search"
    assert replace(PROFILES).vectors is None
