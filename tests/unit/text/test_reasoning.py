"""A model's reasoning is taken out of its reply, whatever marks it, and wherever the parts are cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_workers.text.reasoning import ReasoningFilter, without_reasoning


def filtered(*parts: str) -> str:
    answer = ReasoningFilter()
    return "".join([*map(answer.read, parts), answer.end()])


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        (["<think>hm</think>It rose [1]."], "It rose [1]."),
        (["<thi", "nk>h", "m</th", "ink>\n\nIt ro", "se."], "It rose."),
        (["a < b", " and c <", "d"], "a < b and c <d"),
        (["It rose.<think>never closed"], "It rose."),
        (["<Thinking>x</Thinking>y"], "y"),
        (["5 <"], "5 <"),
        (["analysis"], "analysis"),
        (["analysis shows"], "analysis shows"),
        (["anal"], "anal"),
        (["[1", "] says so"], "[1] says so"),
    ],
)
def test_reasoning_is_taken_out_wherever_the_parts_are_cut(parts: list[str], said: str) -> None:
    assert filtered(*parts) == said


HARMONY = (
    "<|channel|>analysis<|message|>Count <them>.<|end|><|start|>assistant<|channel|>commentary to=functions.x"
    "<|message|>{}<|call|><|start|>assistant<|channel|>final <|constrain|>json<|message|>It rose [1].<|return|>"
)
REPLIES = {
    "think": "<think>hm</think>\n\nIt rose [1].",
    "thinking": "<thinking>hm</thinking>It rose [1].",
    "thought": "<thought>hm</thought>It rose [1].",
    "reasoning": "<reasoning>hm</reasoning> It rose [1].",
    "Seed": "<seed:think>hm</seed:think>It rose [1].",
    "Magistral": "[THINK]hm[/THINK]It rose [1].",
    "Kimi": "◁think▷hm◁/think▷It rose [1].",
    "Command": "<|START_THINKING|>hm<|END_THINKING|><|START_RESPONSE|>It rose [1].<|END_RESPONSE|>",
    "Gemma": "<|channel>thought\nhm<channel|>It rose [1].",
    "OpenThinker": "<|begin_of_thought|>hm<|end_of_thought|><|begin_of_solution|>It rose [1].<|end_of_solution|>",
    "Harmony": HARMONY,
    "Harmony without marks": "analysisWe need to count.assistantfinalIt rose [1].",
    "Harmony, final only": "<|start|>assistant<|channel|>final<|message|>It rose [1].<|end|>",
    "Harmony without a channel": "<|start|>assistant<|message|>It rose [1].<|end|>",
    "twice": "<think>a</think>It <think>b</think>rose [1].",
}


@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES.keys())
def test_every_cut_of_every_form_gives_the_same_answer(reply: str) -> None:
    assert without_reasoning(reply) == "It rose [1]."
    assert {filtered(reply[:cut], reply[cut:]) for cut in range(len(reply) + 1)} == {"It rose [1]."}
    assert filtered(*reply) == "It rose [1]."


@pytest.mark.parametrize("reply", ["hm</think>It rose.", "hm [/THINK] It rose.", "hm ◁/think▷ It rose."])
def test_a_closing_mark_that_nothing_opened_ends_reasoning(reply: str) -> None:
    assert without_reasoning(reply) == "It rose."


@given(
    st.lists(st.sampled_from(["<think>", "</think>", "<|channel|>", "<|message|>", "analysis", "a", " ", "[", "<|"]))
)
def test_parts_are_read_as_the_whole_is(parts: list[str]) -> None:
    assert filtered(*parts) == filtered("".join(parts))


@given(st.text(alphabet="abc <>[]|/ 1.\n"))
def test_a_reply_without_a_mark_is_all_answer(reply: str) -> None:
    assert filtered(*reply) == filtered(reply) == without_reasoning(reply) == reply
