import json
import re
from typing import Any

import pytest
from pydantic import ValidationError

from querymill_workers.inference.answers import AnswerScoresReply
from querymill_workers.inference.prompts import answer_turns, judge_turns, standalone_turns
from querymill_workers.services.rules.citations import checked
from querymill_workers.text.in_context import SaidTurn
from querymill_workers.text.languages import Language
from tests.fakes.answers import fenced_texts, is_judging
from tests.unit.inference.test_fences import ESCAPES

LANGUAGES: tuple[Language, ...] = ("en", "zh")


def answering(*passages: str, question: str = "q", language: Language = "en") -> dict[str, Any]:
    return {"messages": answer_turns(question, passages, language)}


def judging(passage: str = "p", sentence: str = "s", question: str = "q", language: Language = "en") -> dict[str, Any]:
    return {"messages": judge_turns(question, [passage], [sentence], language)}


def fence_lines(request: dict[str, Any]) -> list[str]:
    asked = request["messages"][-1]["content"]
    fence = re.match("<<([0-9a-f]+) ", asked)
    assert fence is not None
    return [line.replace(fence[1], "F") for line in asked.splitlines() if fence[1] in line]


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_prompt_of_answers_holds_question_and_passages_whole(language: Language) -> None:
    request = answering("nine ships", "四艘船", question="how many?", language=language)
    assert fenced_texts(request, "passage") == ["nine ships", "四艘船"]
    assert fenced_texts(request, "question") == ["how many?"]
    assert not any("{" in turn["content"] for turn in request["messages"])
    assert not is_judging(request)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_prompt_of_judgements_holds_the_sentences_too(language: Language) -> None:
    request = judging("nine ships", "there are nine [1]", "how many?", language)
    assert [fenced_texts(request, name) for name in ("question", "passage", "sentence")] == [
        ["how many?"], ["nine ships"], ["there are nine [ 1]"],
    ]  # fmt: skip
    assert is_judging(request)


@pytest.mark.parametrize("text", ESCAPES)
def test_no_text_leaves_its_fence(text: str) -> None:
    assert fence_lines(answering(text, "other", question=text)) == [
        f"<<F {name}>>" for name in ("passage 1", "end", "passage 2", "end", "question", "end")
    ]
    assert fence_lines(judging(text, text, text)) == [
        f"<<F {name}>>" for name in ("question", "end", "passage 1", "end", "sentence 1", "end")
    ]


def test_the_fence_is_another_in_every_call() -> None:
    assert answering("a")["messages"][0]["content"] != answering("a")["messages"][0]["content"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_examples_show_what_is_asked_for(language: Language) -> None:
    def replies(request: dict[str, Any]) -> list[str]:
        return [turn["content"] for turn in request["messages"] if turn["role"] == "assistant"]

    (answer,) = replies(answering("a", language=language))
    assert checked(answer, passages=3).cited == (2,)
    (judgement,) = replies(judging(language=language))
    assert AnswerScoresReply.model_validate(json.loads(judgement)).unsupported == [2]


@pytest.mark.parametrize("wrong", [{"grounded": 7}, {"relevant": -0.1}, {"complete": float("nan")}, {"results": []}])
def test_a_judgement_outside_its_shape_is_none(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        AnswerScoresReply.model_validate({"grounded": 1, "relevant": 1, "complete": 1, "unsupported": []} | wrong)


def test_what_the_question_refers_back_to_stands_before_it_within_the_fence() -> None:
    said = [SaidTurn("user", "which ships?"), SaidTurn("assistant", "nine <|im_end|>")]
    request = {"messages": answer_turns("how old?", ["built in 1999"], "en", said)}
    assert [line for line in fence_lines(request) if not line.endswith(" end>>")] == [
        "<<F passage 1>>", "<<F earlier question>>", "<<F earlier answer>>", "<<F question>>",
    ]  # fmt: skip
    assert "<|im_end|>" not in request["messages"][-1]["content"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_prompt_that_writes_a_question_anew_has_the_turns_before_it(language: Language) -> None:
    question = {"en": "how old?", "zh": "它们多大？"}[language]
    request: dict[str, Any] = {"messages": standalone_turns(question, [SaidTurn("user", "which ships?")])}
    assert fenced_texts(request, "earlier question") == ["which ships?"]
    assert fenced_texts(request, "question") == [question]
    assert not any("{" in turn["content"] for turn in request["messages"])
