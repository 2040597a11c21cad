"""The OpenAI-compatible shapes: what a client was sent of an answer, where it is cited, what is a model."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill import AnswerQuestion, IngestModules, IngestReports
from querymill.agents.answering import AgentQuestion
from querymill.agents.found import FoundHit
from querymill.gateway.http.problems import Problem, invalid
from querymill.gateway.openai.completion_stream import BEGUN_AGAIN, Finished, Transcript
from querymill.gateway.openai.completions import told
from querymill.gateway.openai.shape import (
    CompletionRequest,
    annotations_of,
    error_of,
    is_openai_path,
    models_of,
)
from querymill.presenting.places import Place, PlaceSpan
from querymill.testing import MemoryMill
from querymill_shared.contracts.answer import WrittenAnswer
from querymill_shared.contracts.events import AnswerPart
from tests.fakes.access import MemoryAccess


def written(text: str, language: str = "en", *, quoted: bool = False) -> WrittenAnswer:
    fields = {"text": text, "citations": (), "language": language, "passages": 1, "quoted": quoted}
    return WrittenAnswer.model_validate(fields)


def part(offset: int, text: str, attempt: int = 1) -> AnswerPart:
    return AnswerPart(stage="answer", attempt=attempt, offset=offset, text=text)


@given(st.lists(st.text(max_size=9), max_size=9))
def test_what_is_sent_is_the_answer_however_it_is_cut(texts: list[str]) -> None:
    transcript, sent, offset = Transcript(), "", 0
    for text in texts:
        sent += transcript.take(part(offset, text))
        offset += len(text)
    whole = "".join(texts)
    assert sent + transcript.end(written(whole + "!")) == whole + "!" == transcript.sent


def test_an_answer_that_begins_again_alike_goes_on_where_it_was() -> None:
    transcript = Transcript()
    assert transcript.take(part(0, "Nine sh")) == "Nine sh"
    assert transcript.take(part(0, "", 2)) == ""
    assert transcript.take(part(0, "Nine", 2)) == ""
    assert transcript.take(part(4, " ships", 2)) == "ips"
    assert transcript.end(written("Nine ships [1]")) == " [1]"


def test_an_answer_that_begins_again_otherwise_is_sent_whole_after_a_mark() -> None:
    transcript = Transcript()
    transcript.take(part(0, "Nine sh"))
    assert transcript.take(part(0, "The fleet counts nine", 2)) == ""
    assert transcript.end(written("The fleet counts nine.")) == f"{BEGUN_AGAIN}The fleet counts nine."
    assert transcript.sent == f"Nine sh{BEGUN_AGAIN}The fleet counts nine."


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", "The chat model broke off. Quoted from the sources instead:"),
        ("zh", "对话模型中断了回答。以下为原文摘录："),
    ],
)
def test_a_quotation_after_a_beginning_says_that_it_is_one(language: str, said: str) -> None:
    transcript = Transcript()
    transcript.take(part(0, "Nine sh"))
    quotation = written("the fleet counts nine ships [1]", language, quoted=True)
    assert transcript.end(quotation) == f"{BEGUN_AGAIN}{said}\n\n{quotation.text}"
    assert Transcript().end(quotation) == quotation.text, "nothing stands before it"


def test_every_citation_has_its_place_in_characters() -> None:
    sources = [FoundHit(Place("reports", "filings", "a1", PlaceSpan(2, 2)), "Nordhav\n2022, page 2", 0.9, "x")]
    text = "😀 forty million [1], and [1] but [2] and [99999]"
    found = [each.url_citation for each in annotations_of(text, sources, ["http://host/a1"])]
    assert [text[each.start_index : each.end_index] for each in found] == ["[1]", "[1]"]
    assert (found[0].title, found[0].url) == ("Nordhav 2022, page 2", "http://host/a1")


def test_a_collection_is_a_model_and_so_are_its_kinds_if_it_has_several() -> None:
    found = models_of([("chats", ("messages", "conversations")), ("filings", ("reports",))])
    assert [model.id for model in found] == ["chats", "chats/messages", "chats/conversations", "filings", "all"]
    assert [model.id for model in models_of([("filings", ("reports",))])] == ["filings"], "there is no choice"


def test_the_texts_of_the_user_are_read_and_the_rest_is_left_alone() -> None:
    asked = CompletionRequest.model_validate({
        "model": "filings", "temperature": 0.2, "tools": [], "max_tokens": 9_999, "stream": None,
        "messages": [
            {"role": "system", "content": "Be short."},
            {"role": "user", "content": " how many ships? "},
            {"role": "assistant", "content": None, "tool_calls": []},
            {"role": "user",
             "content": [{"type": "image_url", "image_url": {}}, {"type": "text", "text": "and in 2021?"}]},
        ],
    })  # fmt: skip
    assert [message.text for message in asked.messages] == ["Be short.", "how many ships?", "", "and in 2021?"]
    assert asked.answer_tokens == 4_000


@pytest.mark.parametrize("given", [{"n": 2}, {"messages": []}, {"response_format": {"type": "json_object"}}])
def test_what_cannot_be_done_is_refused(given: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(given))):
        CompletionRequest.model_validate({"model": "f", "messages": [{"role": "user", "content": "x"}]} | given)


def test_a_problem_has_the_members_that_openai_clients_read() -> None:
    assert error_of(invalid(("messages", "must hold text"))).model_dump() == {
        "message": "messages: must hold text", "type": "invalid_request_error", "param": "messages", "code": "invalid",
    }  # fmt: skip
    missing = error_of(Problem("not-found", "no such model", more={"param": "model", "code": "model_not_found"}))
    assert (missing.param, missing.code) == ("model", "model_not_found")
    assert error_of(Problem("unauthorized")).type == "authentication_error"
    assert error_of(Problem("unavailable")).type == "server_error"


def test_only_the_compatible_routes_have_that_shape() -> None:
    assert is_openai_path("/v1/models/filings/reports")
    assert not is_openai_path("/v1/jobs")


def heard(access: MemoryAccess, question: AgentQuestion) -> tuple[str, Finished]:
    async def followed() -> list[str | Finished]:
        return [part async for part in told(access, question)]

    *parts, end = asyncio.run(followed())
    assert isinstance(end, Finished)
    return "".join(str(part) for part in parts), end


def test_an_answer_is_told_in_parts_and_ends_with_its_sources() -> None:
    report = {"sha1": "a1", "title": "Nordhav 2022", "company": "Nordhav", "pages": [{"page": 1, "text": "nine ships"}]}
    module = {"file_path": "a.js", "code": "vtkConeSource()", "meta_info": {"vtkjs_modules": ["vtkConeSource"]}}
    with MemoryMill() as mill:
        mill.submit(IngestReports.model_validate({"collection": "c", "documents": [report]})).result(10)
        mill.submit(IngestModules.model_validate({"collection": "c", "documents": [module]})).result(10)
        text, end = heard(MemoryAccess(mill), AgentQuestion("reports", "c", "how many ships?"))
        assert text == end.text
        assert text.endswith("nine ships [1]")
        assert [source["id"] for source in end.more["sources"]] == ["reports:c/a1#p1"]
        assert end.usage is not None
        assert end.usage.total_tokens == end.usage.prompt_tokens + end.usage.completion_tokens > 0
        access = MemoryAccess(mill)
        text, end = heard(access, AgentQuestion("modules", "c", "wholly unrelated zebra"))
        assert (text, end.sources) == ("The stored documents hold nothing that answers this.", ())
        assert not any(isinstance(request, AnswerQuestion) for request in access.submitted)
