"""Signs in the words of a session: solved, and speaking of an earlier one."""

import pytest

from querymill_workers.retrievers.conversations.rules.session_signs import Turn, is_solved, speaks_of_earlier

ANSWER = Turn("assistant", "```python\npool = open_pool()\n```")


@pytest.mark.parametrize(
    ("turns", "solved"),
    [
        ([Turn("user", "How do I open a pool?"), ANSWER, Turn("user", "thanks!")], True),
        ([Turn("user", "连接池为什么报错"), Turn("assistant", "长" * 201), Turn("user", "明白了")], True),
        ([Turn("user", "How do I open a pool?"), Turn("assistant", "长" * 200), Turn("user", "thanks")], False),
        ([ANSWER, Turn("user", "How do I open a pool?"), Turn("user", "thanks")], False),
        ([Turn("user", "thanks"), ANSWER, Turn("user", "How do I open a pool?")], False),
        ([Turn("user", "How? thanks"), ANSWER], False),
        ([Turn("user", "Please open a pool"), ANSWER, Turn("user", "thanks")], False),
        ([Turn("user", "an error"), ANSWER, Turn("user", "还是不明白")], False),
        ([Turn("user", "an error"), ANSWER, Turn("user", "it never works")], False),
        ([Turn("user", "an error"), Turn("user", "here"), ANSWER, Turn("user", "hm"), Turn("user", "Got it")], True),
        ([Turn(None, "How?"), Turn(None, "```x```"), Turn(None, "thanks")], False),
        ([], False),
    ],
)  # fmt: skip
def test_solved_is_a_question_then_an_answer_then_a_thank_you(turns: list[Turn], solved: bool) -> None:
    assert is_solved(turns) is solved


@pytest.mark.parametrize(
    "text",
    ["it isn't solved", "it isn’t solved yet", "I haven't fixed it", "thanks but it is still broken", "not yet solved",
     "thanks, I don't think it works", "still not working", "Thanks, it still fails", "it never worked",
     "Thanks, it doesn't make sense", "thanks, I still get the error", "cant get it fixed, thanks",
     "Thanks, still an exception", "Thanks, still no luck",
     "我没有明白", "不太明白", "没搞定", "谢谢，还没解决了", "还是没有完全弄明白", "没看懂了", "谢谢，还是报错",
     "谢谢，还是不行"],
)  # fmt: skip
def test_a_confirmation_that_is_denied_is_none(text: str) -> None:
    assert not is_solved([Turn("user", "How do I open a pool?"), ANSWER, Turn("user", text)])


@pytest.mark.parametrize(
    "text",
    ["not bad, it works", "no errors, thanks", "it doesn't fail anymore, solved", "still here? thanks",
     "it still works", "I didn't know that, makes sense", "Thanks, that is not needed", "No longer broken, thanks",
     "Thanks, still a great tool", "没有问题了，谢谢", "没问题，搞定", "不报错了，可以了", "没想到这么简单，明白了",
     "不用了，搞定了", "不错，懂了", "还是你厉害，解决了"],
)  # fmt: skip
def test_a_denial_of_something_else_leaves_the_confirmation(text: str) -> None:
    assert is_solved([Turn("user", "How do I open a pool?"), ANSWER, Turn("user", text)])


@pytest.mark.parametrize(
    "text",
    ["as we discussed before, the pool", "Last time you used a pool", "run that code again", "之前讨论过的连接池",
     "上次提到的方案", "那段代码有问题", "in our previous conversation", "we talked about the pool yesterday"],
)  # fmt: skip
def test_phrases_that_speak_of_an_earlier_session(text: str) -> None:
    assert speaks_of_earlier([Turn("user", text)])


@pytest.mark.parametrize("text", ["the last timeout", "这段代码有问题", "code that works", "discuss this", "以前"])
def test_phrases_that_do_not(text: str) -> None:
    assert not speaks_of_earlier([Turn("user", text)])


@pytest.mark.parametrize(
    "turn",
    [
        Turn("user", "great, commit it"), Turn("user", "LGTM"), Turn("user", "ship it"), Turn("user", "请提交"),
        Turn("user", "merged"), Turn("assistant", "12 passed in 0.4s"), Turn("tool", "===== 214 passed ====="),
        Turn("assistant", "All tests pass now."), Turn("assistant", "[main 1c6637d] pools are closed"),
        Turn("assistant", "I've committed the change."), Turn("assistant", "已提交，测试全部通过。"),
    ],
)  # fmt: skip
def test_work_that_is_committed_or_green_is_solved(turn: Turn) -> None:
    assert is_solved([Turn("user", "How do I open a pool?"), ANSWER, turn])
    assert not is_solved([turn, Turn("user", "How do I open a pool?"), ANSWER])


@pytest.mark.parametrize(
    "turn",
    [
        Turn("user", "don't commit it"), Turn("user", "before we merge it, one more thing"), Turn("user", "还没提交"),
        Turn("assistant", "11 passed, 1 failed"), Turn("assistant", "I have not committed the change"),
        Turn("assistant", "should I commit it?"), Turn(None, "12 passed"),
    ],
)  # fmt: skip
def test_work_that_is_not_done_is_not_solved(turn: Turn) -> None:
    assert not is_solved([Turn("user", "How do I open a pool?"), ANSWER, turn])


def test_only_users_speak_of_an_earlier_session() -> None:
    assert not speaks_of_earlier([Turn("assistant", "as we discussed before, that code"), Turn("tool", "last time")])
