"""What a provider's response means: its status, its headers, its tokens, and the bytes that are none."""

import email.utils
import json
import time
from collections.abc import Callable

import httpx2
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_workers.inference.account import RateLimitHeaders
from querymill_workers.inference.bounded import TooLong
from querymill_workers.inference.client import (
    Limited,
    NoResponse,
    Rejected,
    TimedOut,
    error_of_status,
    make_call,
    open_client,
    rate_limit_headers,
    retry_after_s,
    tokens_of,
)

REQUEST = httpx2.Request("POST", "http://provider/v1")


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "1m30s"}, 90.0),
        ({"retry-after-ms": "250"}, 0.25),
        ({"retry-after-ms": "250", "retry-after": "3"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "3"}, 3.0),
        ({"retry-after": "86400"}, 600.0),
        ({"retry-after-ms": "86400000"}, 600.0),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, None),
        ({"retry-after": "Fri, 31 Dec 9999 23:59:59 GMT"}, None),
        ({"retry-after": "Fri, 31 Dec 99999 23:59:59 GMT"}, None),
        ({"retry-after": "99999999999999999999"}, None),
        ({"retry-after": "9" * 5_000}, None),
        ({"retry-after-ms": "9" * 5_000}, None),
        ({"retry-after": "86401"}, None),
        ({"retry-after": "0"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": ""}, None),
    ],
)
def test_how_long_to_wait_is_read_from_any_of_its_forms(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_s(headers) == seconds


def test_a_date_is_read_by_the_clock_of_this_machine() -> None:
    in_a_minute = email.utils.formatdate(time.time() + 60, usegmt=True)
    assert retry_after_s({"retry-after": in_a_minute}) == pytest.approx(60, abs=2)


@pytest.mark.parametrize("left", ["9" * 5_000, "-1", "nan", "٣", "1e9"])
@pytest.mark.parametrize("reset", ["9" * 5_000, "-1", "nan", "1e999s", "99999999999d", "1767225600"])
def test_a_limit_beyond_reason_counts_as_not_said(left: str, reset: str) -> None:
    names = ("remaining-requests", "reset-requests", "remaining-tokens", "reset-tokens")
    headers = dict(zip((f"x-ratelimit-{name}" for name in names), (left, reset) * 2, strict=True))
    assert rate_limit_headers(headers) == RateLimitHeaders()


def test_all_headers_of_a_limit_are_read() -> None:
    headers = {
        "x-ratelimit-remaining-requests": "7", "x-ratelimit-reset-requests": "1s",
        "x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "6m0s", "retry-after": "2",
    }  # fmt: skip
    assert rate_limit_headers(headers) == RateLimitHeaders(
        retry_after_s=2.0, requests_left=7, requests_reset_s=1.0, tokens_left=0, tokens_reset_s=360.0
    )


@given(st.dictionaries(st.sampled_from([
    "retry-after", "retry-after-ms", "x-ratelimit-remaining-requests", "x-ratelimit-reset-requests",
    "x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens",
]), st.text() | st.from_regex(r"[0-9.²]{1,5}(ms|s|m|h|d)?")))  # fmt: skip
def test_whatever_headers_hold_they_raise_nothing_and_wait_at_most_ten_minutes(headers: dict[str, str]) -> None:
    limits = rate_limit_headers(headers)
    assert limits.retry_after_s is None or 0 <= limits.retry_after_s <= 600
    assert limits.requests_left is None or limits.requests_left >= 0


@pytest.mark.parametrize(
    ("status", "kind", "text"),
    [
        (429, Limited, "HTTP 429"),
        (500, NoResponse, "HTTP 500"),
        (503, NoResponse, "HTTP 503"),
        (408, NoResponse, "HTTP 408"),
        (409, NoResponse, "HTTP 409"),
        (424, NoResponse, "HTTP 424"),
        (400, Rejected, "HTTP 400"),
        (401, Rejected, "HTTP 401"),
        (307, Rejected, "HTTP 307 (redirects are not followed)"),
    ],
)
def test_a_status_says_whether_another_try_may_help(status: int, kind: type[Exception], text: str) -> None:
    error = error_of_status(status, {"retry-after": "2"})
    assert (type(error), str(error)) == (kind, text)
    if isinstance(error, Limited):
        assert error.limits.retry_after_s == 2.0


OPENAI_QUOTA = {
    "message": "You exceeded your current quota, please check your plan and billing details.",
    "type": "insufficient_quota", "param": None, "code": "insufficient_quota",
}  # fmt: skip
GEMINI = {
    "code": 429, "message": "You exceeded your current quota. Please retry in 36s.", "status": "RESOURCE_EXHAUSTED",
    "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "36s"}],
}  # fmt: skip


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (429, OPENAI_QUOTA),
        (429, {"error": OPENAI_QUOTA}),
        (402, {"error": {"message": "Insufficient Balance", "type": "unknown_error", "code": "invalid_request_error"}}),
        (402, None),
        (403, {"error": {"message": "Your credit balance is too low"}}),
        (400, {"code": "Arrearage", "message": "Access denied"}),
        (429, {"error": {"type": "exceeded_current_quota_error", "message": "check your plan"}}),
        (429, {"detail": "Out of credits"}),
        (503, {"error": {"code": "quota_exceeded"}}),
        (
            402,
            [{"error": {"code": 402, "message": "Your prepaid credits are used up.", "status": "RESOURCE_EXHAUSTED"}}],
        ),
        (402, {"message": "Maximum billing reached for this API key as set in your dashboard"}),
        (429, {"message": "Maximum billing reached for this API key"}),
        (429, {"error": {"code": "1113", "message": "您的账户余额不足"}}),
        (403, {"error": {"message": "Your credits have been depleted", "type": "forbidden"}}),
        (429, {"type": "error", "error": {"type": "billing_error", "message": "see your plan"}}),
        (
            429,
            {"error": {"message": "too much", "details": {"error_code": 3}, "reason": "enforced_spend_limit_reached"}},
        ),
        (400, {"id": "r", "error": {"message": "see your billing settings", "type": "credit_limit"}}),
    ],
    ids=str,
)
def test_a_quota_is_no_rate_limit_whatever_its_status(status: int, body: object) -> None:
    error = error_of_status(status, {}, body=body)
    assert (type(error), str(error)) == (Rejected, f"HTTP {status}, no quota left")
    assert isinstance(error, Rejected)
    assert not error.of_content


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ({}, [{"error": GEMINI}]),
        ({"retry-after": "36"}, {"error": {"message": "You exceeded your current quota"}}),
        ({"retry-after": "36"}, {"error": {"code": "rate_limit_exceeded", "message": "Rate limit reached for model"}}),
        ({"retry-after": "36"}, {"error": {"code": 429, "message": "Rate limit exceeded: free-models-per-day"}}),
        ({"retry-after": "36"}, {"error": {"type": "rate_limit_error", "code": "slow_down", "message": "slower"}}),
        ({"retry-after-ms": "36000"}, {"message": "Requests rate limit exceeded", "type": "rate_limited"}),
    ],
    ids=str,
)
def test_a_limit_that_names_its_end_is_no_quota(headers: dict[str, str], body: object) -> None:
    error = error_of_status(429, headers, body=body)
    assert isinstance(error, Limited)
    assert error.limits.retry_after_s == 36
    assert error.words


@pytest.mark.parametrize(
    ("status", "headers", "body", "said"),
    [
        (402, {"retry-after": "36"}, {"error": {"code": 402, "message": "too much under way"}}, "HTTP 402"),
        (403, {"retry-after": "36"}, {"error": {"code": "rate_limit_exceeded", "message": "slower"}}, "HTTP 403"),
        (503, {"retry-after": "36"}, {"error": {"type": "rate_limit", "message": "slower"}}, "HTTP 503"),
    ],
    ids=str,
)
def test_a_limit_is_one_whatever_its_status(status: int, headers: dict[str, str], body: object, said: str) -> None:
    error = error_of_status(status, headers, body=body)
    assert isinstance(error, Limited)
    assert (str(error), error.limits.retry_after_s) == (said, 36)


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (498, {"error": {"code": "capacity_exceeded", "message": "no room in the flex tier"}}),
        (499, {"message": "failed to get rerank inference: request cancelled"}),
        (529, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
        (400, {"error": {"code": "server_is_overloaded", "message": "try again"}}),
        (503, {"error": "Model m is currently loading", "estimated_time": 20.0}),
        (424, {"error": "Inference failed", "error_type": "Backend"}),
    ],
    ids=str,
)
def test_a_provider_without_room_may_have_some_later(status: int, body: object) -> None:
    error = error_of_status(status, {}, body=body)
    assert (type(error), str(error)) == (NoResponse, f"HTTP {status}")
    assert isinstance(error, NoResponse)
    assert error.words


@pytest.mark.parametrize(
    ("status", "body", "is_path"),
    [
        (404, {"message": "404 page not found"}, True),
        (404, "<html><h1>Not Found</h1>", True),
        (404, None, True),
        (404, {"detail": "Not Found"}, True),
        (405, {"detail": "Method Not Allowed"}, True),
        (404, {"error": {"message": "model 'm' not found, try pulling it first"}}, False),
        (404, {"error": {"message": "no", "code": "model_not_found"}}, False),
        (404, {"error": {"code": "DeploymentNotFound", "message": "The API deployment does not exist"}}, False),
    ],
    ids=str,
)
def test_an_address_that_serves_nothing_is_told_from_a_model_that_is_not_there(
    status: int, body: object, *, is_path: bool
) -> None:
    said = str(error_of_status(status, {}, body=body))
    hint = " (nothing serves this path: is the address the provider's OpenAI-compatible one?)"
    assert said == f"HTTP {status}{hint if is_path else ''}"


@pytest.mark.parametrize("path", ["", "/", "/chat/completions", "/completions", "/embeddings", "/embeddings/"])
def test_the_whole_url_of_an_endpoint_serves_as_its_address(path: str) -> None:
    with open_client(f"http://provider/compatibility/v1{path}", "", timeout_s=3.0) as client:
        assert str(client.base_url) == "http://provider/compatibility/v1/"


@pytest.mark.parametrize(
    ("status", "body", "of_content"),
    [
        (400, {"error": {"code": "content_filter", "message": "filtered"}}, True),
        (403, {"error": {"code": "content_filter", "message": "filtered"}}, True),
        (400, {"error": {"code": "context_length_exceeded", "message": "too long"}}, True),
        (400, {"error": {"code": "model_not_found", "message": "no such model"}}, False),
        (404, {"error": {"code": "DeploymentNotFound", "message": "no deployment"}}, False),
        (422, {"detail": "no"}, True),
        (413, {"error": {"code": "rate_limit_exceeded", "message": "Request too large: Limit 6000"}}, True),
    ],
)
def test_a_code_says_whether_the_texts_are_at_fault(status: int, body: object, *, of_content: bool) -> None:
    error = error_of_status(status, {}, body=body)
    assert isinstance(error, Rejected)
    assert error.of_content is of_content


def raising(error: Exception) -> Callable[[], object]:
    def call() -> object:
        raise error

    return call


def status_error(status: int) -> openai.APIStatusError:
    response = httpx2.Response(status, request=REQUEST, headers={"retry-after": "2"}, text="the caller's own words")
    return openai.APIStatusError("the caller's own words", response=response, body=None)


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        (openai.APITimeoutError(REQUEST), TimedOut, "no response in time"),
        (httpx2.ReadTimeout("slow"), TimedOut, "no response in time"),
        (openai.APIConnectionError(request=REQUEST), NoResponse, "no connection"),
        (httpx2.RemoteProtocolError("cut"), NoResponse, "no connection"),
        (json.JSONDecodeError("no", "<html>", 0), NoResponse, "unreadable response (JSONDecodeError)"),
        (KeyError("choices"), NoResponse, "unreadable response (KeyError)"),
        (RecursionError(), NoResponse, "unreadable response (RecursionError)"),
        (OverflowError(), NoResponse, "unreadable response (OverflowError)"),
        (MemoryError(), NoResponse, "unreadable response (MemoryError)"),
        (TooLong("a response of more than 9 bytes"), NoResponse, "a response of more than 9 bytes"),
        (openai.OpenAIError("the caller's own words"), NoResponse, "unreadable response (OpenAIError)"),
        (status_error(429), Limited, "HTTP 429"),
        (status_error(502), NoResponse, "HTTP 502"),
        (status_error(422), Rejected, "HTTP 422"),
    ],
)
def test_what_goes_wrong_is_one_of_three_kinds_and_quotes_nobody(
    error: Exception, kind: type[Exception], text: str
) -> None:
    with pytest.raises((Limited, NoResponse, Rejected)) as caught:
        make_call(raising(error))
    assert (type(caught.value), str(caught.value)) == (kind, text)


def test_a_bug_that_is_none_of_these_is_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError):
        make_call(raising(ZeroDivisionError()))
    assert make_call(lambda: 5) == 5


@pytest.mark.parametrize(("usage", "tokens"), [(None, None), (0, None), (-3, None), ("12", None), (12, 12)], ids=str)
def test_tokens_are_what_the_provider_says_if_it_says_something(usage: object, tokens: int | None) -> None:
    assert tokens_of({"usage": {"total_tokens": usage}}) == tokens
    assert tokens_of({"usage": None}) is None
    assert tokens_of({}) is None


def test_the_client_neither_retries_nor_follows_a_redirect() -> None:
    with open_client("http://provider/v1", "", timeout_s=3.0) as client:
        assert client.max_retries == 0
        assert client._client.follow_redirects is False  # it has no public one
        assert client.timeout == 3.0
