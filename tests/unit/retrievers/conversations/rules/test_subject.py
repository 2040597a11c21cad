"""What a question is about: without its time, its filler and its frame."""

import time

import pytest

from querymill_workers.retrievers.conversations.rules.subject import asked_order, asks_for_recap, simplify, unframed


@pytest.mark.parametrize(
    ("question", "subject"),
    [
        ("Which session talked about the HEAD request?", "the HEAD request?"),
        ("in what conversation did we discuss the retry queue", "the retry queue"),
        ("which chat was about deadlocks", "deadlocks"),
        ("When did we last talk about moving to Postgres?", "moving to Postgres?"),
        ("how often have we discussed flaky tests", "flaky tests"),
        ("Have we ever mentioned zstd?", "zstd?"),
        ("when we spoke about naming", "naming"),
        ("What did we say about the deadline?", "the deadline?"),
        ("what was decided on logging", "logging"),
        ("the chat where we discussed the login bug", "the login bug"),
        ("find the session in which you explained RLS", "RLS"),
        ("sessions about caching", "caching"),
        ("the last time we talked about the gateway", "the gateway"),
        ("the most recent session about Redis", "Redis"),
        ("latest conversation on backups", "backups"),
        ("earliest chat about the index", "the index"),
        ("the first session where we discussed Kafka", "Kafka"),
        ("our most recent discussion of the schema", "the schema"),
        ("the flaky importer, which session was that?", "the flaky importer"),
        ("我们什么时候讨论过缓存？", "缓存？"),
        ("在哪次对话里提到 zstd", "zstd"),
        ("哪些会话是关于死锁", "死锁"),
        ("我们上次聊到的部署方案", "部署方案"),
        ("关于登录失败的讨论", "登录失败"),
        ("缓存失效的会话有哪些？", "缓存失效"),
        ("最近一次关于 Redis 的讨论", "Redis"),
        ("第一次聊到 Redis 是什么时候", "Redis"),
        ("我们最后一次讨论部署是什么时候？", "部署"),
        ("最新的会话，关于缓存", "缓存"),
    ],
)
def test_the_frame_of_a_question_is_dropped(question: str, subject: str) -> None:
    left, dropped = unframed(question)
    assert left == subject
    assert dropped


@pytest.mark.parametrize(
    "question",
    [
        "which session expired first",
        "what session token format do we use",
        "which thread holds the lock",
        "threads of the worker",
        "session portability design",
        "when did we replace polling with fsnotify",
        "what did we do about caching",
        "how did we talk to the server",
        "say hello to the gateway",
        "会话过期时间",
        "讨论区的分页",
        "the latest release of the gateway",
        "the last session token",
        "the first thread that takes the lock",
        "most recent threads on the worker pool",
        "第一次启动很慢",
        "最新的版本是什么时候发布的",
        # Nothing would be left.
        "what did we talk about",
        "which session was about",
        "我们讨论过",
    ],
)
def test_a_question_whose_words_are_its_subject_stays(question: str) -> None:
    assert unframed(question) == (question, ())


def test_filler_before_a_frame_is_dropped_too_and_both_are_named() -> None:
    simple = simplify("Do you remember when we talked about the importer?")
    assert simple.text == "the importer?"
    assert simple.dropped == ("Do you remember", "when we talked about")


def test_a_question_that_only_frames_a_time_stays_a_recap() -> None:
    assert asks_for_recap("what did we talk about")
    assert asks_for_recap("哪些会话")
    assert not asks_for_recap("which session talked about caching")


@pytest.mark.parametrize("rest", ["ships and soup " * 50, "ships" + " " * 20_000 + "soup"])
def test_a_text_too_long_for_such_a_question_stays_whole(rest: str) -> None:
    question = f"which session talked about {rest}"
    assert unframed(question) == (question, ())


@pytest.mark.parametrize(
    ("question", "order"),
    [
        ("the most recent session about Redis", "newest"),
        ("latest conversation on backups", "newest"),
        ("when did we last talk about moving to Postgres?", "newest"),
        ("the last time we talked about the gateway", "newest"),
        ("最近一次关于 Redis 的讨论", "newest"),
        ("我们上次聊到的部署方案", "newest"),
        ("first time we discussed Kafka", "oldest"),
        ("When did we first mention zstd?", "oldest"),
        ("earliest chat about the index", "oldest"),
        ("第一次聊到 Redis 是什么时候", "oldest"),
        # Said of the subject, or of nothing.
        ("When did we discuss the last release?", None),
        ("sessions about the first migration", None),
        ("the latest version of Postgres", None),
        ("the worker that starts first", None),
    ],
)
def test_only_the_frame_says_in_which_order_of_time_sessions_are_wanted(question: str, order: str | None) -> None:
    assert asked_order(unframed(question)[1]) == order


@pytest.mark.parametrize("text", ["the " * 75, "最近一次" * 70, "关于" * 150, " " * 299 + "x", "last session " * 23])
def test_frames_are_looked_for_in_no_time(text: str) -> None:
    started = time.process_time()
    unframed(text)
    assert time.process_time() - started < 0.05


@pytest.mark.parametrize(
    ("asked", "left", "dropped"),
    [
        ("can you tell me why the build fails", "why the build fails", ("can you tell me",)),
        ("please show me the retry code, thanks", "the retry code,", ("please", "show me", "thanks")),
        ("请问一下怎么解决超时呢？谢谢", "怎么解决超时 ？", ("请问一下", "呢", "谢谢")),
        ("网吧的网络", "网吧的网络", ()),
        ("call `please()` now", "call `please()` now", ()),
        ("pleased with it", "pleased with it", ()),
        ("hi-res images", "hi-res images", ()),
    ],
)
def test_filler_is_dropped_and_named(asked: str, left: str, dropped: tuple[str, ...]) -> None:
    simple = simplify(asked)
    assert (" ".join(simple.text.split()), simple.dropped) == (left, dropped)


@pytest.mark.parametrize("asked", ["hello", "请问", "thanks!", "please please"])
def test_a_question_of_nothing_but_filler_stays(asked: str) -> None:
    assert simplify(asked).text == asked
    assert simplify(asked).dropped == ()


@pytest.mark.parametrize(
    ("rest", "recap"),
    [
        ("what did we do", True), ("What have I been doing", True), ("what I've been up to", True),
        ("What did we get done", True), ("我们做了什么", True), ("what did we do about caching", False),
        ("the importer session", False), ("缓存做了什么", False),
    ],
)  # fmt: skip
def test_a_question_that_is_nothing_but_a_time_asks_for_a_recap(rest: str, recap: bool) -> None:
    assert asks_for_recap(rest) is recap
