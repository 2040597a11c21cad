import pytest

from querymill_workers.inference.prompts import turns
from querymill_workers.retrievers.reports.glossary import bundled
from querymill_workers.text.queries import wrapped
from tests.fakes.openai_server import METHODS

QUESTIONS = {"en": "What was the revenue in 2022?", "zh": "2022年的营业收入是多少？"}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("language", QUESTIONS)
def test_every_method_has_a_prompt_in_both_languages(method: str, language: str) -> None:
    question = QUESTIONS[language]
    filled = turns(method, question, {"revenue": "income from sales"})
    assert filled[0]["role"] == "system"
    assert filled[-1]["role"] == "user"
    assert question in filled[-1]["content"]
    assert not any("{" in turn["content"] for turn in filled)


def test_only_the_synonym_prompt_takes_terms() -> None:
    filled = turns("synonym", QUESTIONS["en"], {"EBITDA": "earnings before interest"})
    assert "EBITDA: earnings before interest" in filled[-1]["content"]


def test_a_question_that_spells_a_placeholder_is_not_filled_in_again() -> None:
    assert "{terms}" in turns("synonym", "what is {terms}?", {"a": "b"})[-1]["content"]


@pytest.mark.parametrize("method", [method for method in METHODS if method != "hyde"])
@pytest.mark.parametrize("question", QUESTIONS.values())
def test_the_examples_of_a_prompt_hold_what_is_asked_for(method: str, question: str) -> None:
    replies = [turn["content"] for turn in turns(method, question, {}) if turn["role"] == "assistant"]
    assert replies
    assert all(wrapped(reply) for reply in replies)


def test_the_bundled_glossary_knows_terms_in_both_languages() -> None:
    glossary = bundled()
    assert "EBITDA" in glossary.terms
    assert len(glossary.terms) >= 60
    assert any("\u4e00" <= name[0] <= "\u9fff" for name in glossary.terms)
