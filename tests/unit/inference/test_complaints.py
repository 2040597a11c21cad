"""How providers say that they refuse a parameter, in their own words, and what is learned from it."""

from typing import Any

import pytest

from querymill_workers.inference.client import NoResponse, Rejected
from querymill_workers.inference.complaints import MAX_WORDS_CHARS, hide_quotes, parameters_in, texts_limit_in, words_in
from querymill_workers.inference.parameters import DISPENSABLE, Parameters, adapted

SENT = {
    "model": "m", "max_completion_tokens": 100, "temperature": 0.0, "frequency_penalty": 0.3, "stream": True,
    "stream_options": {"include_usage": True}, "response_format": {"type": "json_schema", "json_schema": {}},
    "reasoning_effort": "low", "encoding_format": "float", "input_type": "query", "top_n": 2, "truncate": True,
}  # fmt: skip


def forbidden(*location: str) -> dict[str, Any]:
    return {
        "type": "extra_forbidden",
        "loc": list(location),
        "msg": "Extra inputs are not permitted",
        "input": "temperature",
    }


def openai_error(message: str, param: str | None = None) -> dict[str, Any]:
    return {"message": message, "type": "invalid_request_error", "param": param, "code": "unsupported_parameter"}


WORDINGS: list[tuple[object, list[str]]] = [
    (openai_error("'temperature' does not support 0 with this model.", "temperature"), ["temperature"]),
    (openai_error("Unsupported parameter: 'max_completion_tokens'. Use 'max_tokens' instead."),
     ["max_completion_tokens"]),
    ({"detail": [forbidden("body", "max_completion_tokens")]}, ["max_completion_tokens"]),
    ({"object": "error", "message": {"detail": [forbidden("body", "stream_options"), forbidden("body", "top_n")]}},
     ["stream_options", "top_n"]),
    ({"detail": [forbidden("body", "response_format", "json_schema")]}, ["response_format"]),
    (openai_error("This response_format type is unavailable now"), ["response_format"]),
    (openai_error("Unrecognized request argument supplied: stream_options"), ["stream_options"]),
    (openai_error("Unrecognized request arguments supplied: frequency_penalty, stream_options"), ["frequency_penalty"]),
    (openai_error("property 'stream_options' is unsupported"), ["stream_options"]),
    (openai_error("`json_schema` is not supported by this model. See `response_format`."), ["response_format"]),
    (openai_error("Model x does not support parameter frequencyPenalty."), ["frequency_penalty"]),
    ([{"error": {"code": 400, "message": "Penalty is not enabled for models/x", "status": "INVALID_ARGUMENT"}}],
     ["frequency_penalty"]),
    ({"error": {"message": "Bad Request", "details": [{"fieldViolations": [
        {"field": "encoding_format", "description": "Cannot find field."}]}]}}, ["encoding_format"]),
    ({"error": {"message": "Provider returned error", "metadata": {"raw": '{"detail": "no temperature, please"}'}}},
     ["temperature"]),
    ({"detail": "Unknown field: reasoning_effort"}, ["reasoning_effort"]),
    ({"message": "unknown parameter input_type"}, ["input_type"]),
    ("Failed to deserialize: unknown field `truncate`", ["truncate"]),
    (openai_error("Your organization must be verified to stream this model.", "stream"), ["stream"]),
    ({"error": "streaming is not supported"}, ["stream"]),
    ({"errors": ["max completion tokens: not a known option"]}, ["max_completion_tokens"]),
    ({"error": "'response_format.type' must be 'json_schema' or 'text'"}, ["response_format"]),
    ({"detail": "Value 'float' supplied for argument 'encoding_format' is not valid"}, ["encoding_format"]),
    ({"detail": {"loc": "body.temperature", "msg": "not permitted"}}, ["temperature"]),
    ([{"loc": ["body", "temperature"], "msg": "no"}, {"loc": ["body", "frequency_penalty"], "msg": "no"}],
     ["temperature", "frequency_penalty"]),
    ('{"detail": "reasoning_effort: only none and high"}', ["reasoning_effort"]),
    ("<html><body>Bad Request: unknown field <b>top_n</b></body></html>", ["top_n"]),
    ({"error": {"type": "bad_request", "message": "Invalid field: 'stream_options.include_usage'"}},
     ["stream_options"]),
    ({"message": "invalid request: temperature must be between 0 and 1.0 inclusive."}, ["temperature"]),
    ({"error": {"message": "This model only supports the default value of frequencyPenalty"}}, ["frequency_penalty"]),
]  # fmt: skip


@pytest.mark.parametrize(("body", "named"), WORDINGS, ids=str)
def test_the_refused_parameter_is_found_in_every_wording(body: object, named: list[str]) -> None:
    assert parameters_in(body, DISPENSABLE & SENT.keys()) == named


ELSEWHERE: list[object] = [
    None, "", [], {}, {"error": None}, 3,
    openai_error("This model's maximum context length is 8192 tokens; reduce max_completion_tokens.", "messages"),
    openai_error("max_completion_tokens is too large: 5000", "max_completion_tokens"),
    openai_error("The model `gpt-7` does not exist", "model"),
    openai_error("Invalid type for 'messages[0].content'", "messages[0].content"),
    openai_error("The upstream failed to truncate the stream"),
    {"detail": [forbidden("body", "logit_bias")]},
    {"detail": [{"loc": ["body", "input", 3], "msg": "too long", "input": "temperature"}]},
]  # fmt: skip


@pytest.mark.parametrize("body", ELSEWHERE, ids=str)
def test_an_error_about_something_else_refuses_no_parameter(body: object) -> None:
    assert parameters_in(body, DISPENSABLE & SENT.keys()) == []


def test_only_what_was_sent_can_be_refused() -> None:
    assert parameters_in(openai_error("temperature is not supported", "temperature"), {"stream"}) == []


def test_a_refused_parameter_is_replaced_by_its_older_form_and_then_left_out() -> None:
    assert adapted(SENT, frozenset(("refuses max_completion_tokens",)))["max_tokens"] == 100
    assert (
        not {"max_tokens", "max_completion_tokens"}
        & adapted(SENT, frozenset(("refuses max_completion_tokens", "refuses max_tokens"))).keys()
    )
    older = frozenset(("refuses response_format json_schema",))
    assert adapted(SENT, older)["response_format"] == {"type": "json_object"}
    assert "response_format" not in adapted(SENT, older | {"refuses response_format json_object"})
    assert not {"stream", "stream_options"} & adapted(SENT, frozenset(("refuses stream",))).keys()
    assert adapted(SENT, frozenset()) == SENT


@pytest.mark.parametrize(
    ("words", "sent", "most"),
    [
        ("batch size 256 > maximum allowed batch size 32", 256, 32),
        ("invalid request: total number of texts must be at most 96 - received 104", 104, 96),
        ("The batch size limit is 1000. Your batch size is 1500.", 1500, 1000),
        ("array too long. Expected an array with maximum length 2048, but got an array with length 3000", 3000, 2048),
        ("BatchEmbedContentsRequest.requests: at most 100 requests can be in one batch", 256, 100),
        ("batch size is invalid, it should not be larger than 10.", 25, 10),
        ("batch size too large for text-embedding-3-small", 25, None),
        ("the max allowed tokens per submitted batch is 120", 256, None),
        ("inputs must have less than 12 characters", 256, None),
        ("the batch has 99 items (code 20042)", 32, None),
        ("batch size 0 is not allowed", 32, None),
        ("", 32, None),
    ],
)
def test_how_many_texts_a_request_may_hold_is_found_in_the_words(words: str, sent: int, most: int | None) -> None:
    assert texts_limit_in(words, sent) == most


def test_how_many_texts_a_request_may_hold_is_remembered_and_the_least_counts() -> None:
    parameters = Parameters()
    assert parameters.most_texts is None
    for sent, most in ((256, 96), (96, 32), (64, 48)):
        body = {"message": f"batch size {sent} > maximum allowed batch size {most}"}
        parameters.learn_size(Rejected("HTTP 422", of_content=True, body=body), sent)
    assert parameters.most_texts == 32
    parameters.learn_size(Rejected("HTTP 401", body={"message": "batch size 9 > 1"}), 9)
    assert parameters.most_texts == 32


@pytest.mark.parametrize(("tokens", "ignored"), [(None, False), (100, False), (116, False), (117, True)])
def test_a_limit_that_a_server_drops_without_a_word_shows_in_its_replies(tokens: int | None, *, ignored: bool) -> None:
    parameters = Parameters()
    parameters.measure({"max_completion_tokens": 100}, tokens)
    parameters.measure({"max_tokens": 10}, 1_000)
    assert parameters.ignored == (["max_completion_tokens"] if ignored else [])
    sent = adapted(SENT, parameters.capabilities.known())
    assert [name for name in sent if name.startswith("max_")] == ["max_tokens" if ignored else "max_completion_tokens"]


class Model:
    """Refuses what a test says, one parameter at a time, and keeps what it was sent."""

    def __init__(self, *refused: str) -> None:
        self.refused = refused
        self.sent: list[dict[str, Any]] = []

    def __call__(self, sent: dict[str, Any], limit_s: float) -> str:
        self.sent.append(sent)
        for name in self.refused:
            if name in sent:
                raise Rejected("HTTP 422", of_content=True, body={"detail": [forbidden("body", name)]})
        return "nine ships"


def test_what_was_refused_is_left_out_at_once_and_from_then_on() -> None:
    parameters, model = Parameters(), Model("max_completion_tokens", "max_tokens", "temperature")
    assert parameters.call(SENT, model, 9.0, texts=[]) == "nine ships"
    assert len(model.sent) == 4
    assert parameters.call(SENT, model, 9.0, texts=[]) == "nine ships"
    assert len(model.sent) == 5
    assert parameters.refused == ["max_completion_tokens", "max_tokens", "temperature"]


def test_what_did_not_help_is_not_remembered_and_the_providers_words_are_the_reason() -> None:
    parameters = Parameters()

    def picky(sent: dict[str, Any], limit_s: float) -> str:
        said = "temperature of 'the pin of the safe is 4417' is not allowed"
        raise Rejected("HTTP 400", of_content=True, body=openai_error(said))

    with pytest.raises(Rejected) as caught:
        parameters.call(SENT, picky, 9.0, texts=["what is it?", "the pin of the safe is 4417, ok"])
    assert str(caught.value) == "HTTP 400: temperature of '…' is not allowed (unsupported_parameter)"
    assert parameters.refused == []


def test_nothing_is_repeated_after_the_time_is_up_or_for_another_reason() -> None:
    late, other = Model("temperature"), Model()
    with pytest.raises(Rejected):
        Parameters().call(SENT, late, 0.0, texts=[])
    assert len(late.sent) == 1

    def down(sent: dict[str, Any], limit_s: float) -> str:
        other.sent.append(sent)
        raise NoResponse("HTTP 500")

    with pytest.raises(NoResponse):
        Parameters().call(SENT, down, 9.0, texts=[])
    assert len(other.sent) == 1


def test_words_name_the_parameter_once_and_are_bounded() -> None:
    said = words_in({"detail": [forbidden("body", "max_tokens")]})
    assert said == "max_tokens: Extra inputs are not permitted (extra_forbidden)"
    assert words_in({"error": {"message": "bad  top_n", "param": "top_n"}, "message": "bad top_n"}) == "bad top_n"
    assert len(words_in("x" * 10_000)) == MAX_WORDS_CHARS
    assert words_in(None) == ""
    page = "<!doctype html><html><head><title>502 Bad Gateway</title><style>b { x }</style></head><body><!-- no -->"
    assert words_in(f"{page}<h1>502 Bad Gateway</h1><hr>nginx</body>") == "502 Bad Gateway 502 Bad Gateway nginx"


def test_of_an_error_without_end_only_the_beginning_is_read() -> None:
    many = [{"message": f"word {number}"} for number in range(1_000)]
    named = {"message": "top_n is not supported"}
    assert parameters_in([*many, named], SENT) == parameters_in("x" * 10_000 + " temperature", SENT) == []
    assert parameters_in([named, *many], SENT) == ["top_n"]


@pytest.mark.parametrize(
    ("words", "texts", "shown"),
    [
        ("no model for THE SECRET pin is 4417!", ["the secret  pin is 4417, do not tell"], "no model for …!"),
        ("cannot read Rome", ["Rome"], "cannot read …"),
        ("cannot read", ["Rome", ""], "cannot read"),
        ("İİİ not permitted", ["a text about something else"], "İİİ not permitted"),
    ],
)
def test_what_words_quote_of_a_text_is_hidden(words: str, texts: list[str], shown: str) -> None:
    assert hide_quotes(words, texts) == shown
