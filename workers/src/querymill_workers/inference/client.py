"""The OpenAI client, without retries of its own, and the errors and headers of providers."""

import email.utils
import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Generic, TypeVar

import httpx2
import openai

from querymill_shared.values import value
from querymill_workers.inference.account import RateLimitHeaders
from querymill_workers.inference.bounded import BoundedClient, TooLong
from querymill_workers.inference.complaints import Meaning, meaning_of, pause_in, says_quota, words_in
from querymill_workers.inference.routes import UnusableProxy, transport_to

T = TypeVar("T")
U = TypeVar("U")

#: What a client raises for a malformed response: garbage, invalid UTF-8, JSON of another shape, too deep or too long.
UNREADABLE = (
    json.JSONDecodeError, UnicodeDecodeError, ValueError, TypeError, AttributeError, LookupError, RecursionError,
    OverflowError, MemoryError,
)  # fmt: skip
#: A response of a chat model has at most so many bytes: thousands of tokens with all that a stream says of each.
MAX_RESPONSE_BYTES = 16_000_000
#: A provider's pause is cut to this, in seconds. One that asks for more than a day says nothing about its limit.
MAX_PAUSE_S, DAY_S = 600.0, 86_400.0
#: Statuses that may be due to one of several texts.
_OF_CONTENT = (400, 413, 422)
#: Statuses below 500 that may pass. With 424, Text Embeddings Inference says that its backend failed, with 499 Cohere
#: that it dropped the request.
_OF_THE_MOMENT = (408, 409, 424, 425, 499)
#: What the library adds to an address. Providers show whole URLs, so users set those.
_ADDED = re.compile(r"/(?:chat/completions|completions|embeddings)/?$")
_NUMBER = r"\d{1,15}(?:\.\d{1,15})?"
_DURATION = re.compile(rf"({_NUMBER})(ms|s|m|h|d)", re.ASCII)
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}


class NoResponse(Exception):
    """There was no response, or an unusable one. Another try may help.

    ``words`` is what the provider said, which may quote a text.
    """

    def __init__(self, reason: str, *, words: str = "") -> None:
        super().__init__(reason)
        self.words = words


class TimedOut(NoResponse):
    """There was no response within the time limit of the call."""

    def __init__(self) -> None:
        super().__init__("no response in time")


class Rejected(Exception):
    """The provider rejected the request. Another try would not help.

    ``of_content`` tells whether the texts were rejected, so that a request with fewer of them may be accepted. A wrong
    key or address is no matter of content. ``body`` is the provider's error, which may quote a text.
    """

    def __init__(self, reason: str, *, of_content: bool = False, body: object = None) -> None:
        super().__init__(reason)
        self.of_content = of_content
        self.body = body

    @property
    def words(self) -> str:
        """What the provider said, which may quote a text."""
        return words_in(self.body)


class Limited(Exception):
    """The provider rate-limited the call, mostly with HTTP 429. ``words`` is what it said, which may quote a text."""

    def __init__(self, limits: RateLimitHeaders, *, words: str = "", status: int = 429) -> None:
        super().__init__(f"HTTP {status}")
        self.limits = limits
        self.words = words


def worded(error: NoResponse | Limited) -> str:
    """Return an error with the provider's words, once they hold nothing of the caller's texts."""
    return f"{error}: {error.words}" if error.words else str(error)


@value
class ProviderResponse(Generic[T]):
    """The value of a response, the tokens it was charged (None: not reported), and its rate limit headers.

    ``output_tokens`` are those of the tokens that the model wrote, None if that is not reported.
    """

    value: T
    tokens: int | None
    limits: RateLimitHeaders
    output_tokens: int | None = None


def open_client(
    base_url: str, key: str, *, timeout_s: float, max_bytes: int = MAX_RESPONSE_BYTES
) -> openai.OpenAI:  # fmt: skip
    """Open a client that neither retries nor follows redirects, and reads responses of at most ``max_bytes``.

    By default the library retries twice and waits ten minutes. The gateway retries instead, within the deadline.
    """
    http_client = BoundedClient(transport=transport_to(base_url), timeout_s=timeout_s, max_bytes=max_bytes)
    return openai.OpenAI(
        base_url=_ADDED.sub("", base_url),
        api_key=key or "none",
        max_retries=0,
        timeout=timeout_s,
        http_client=http_client,
    )


def make_call(call: Callable[[], U]) -> U:
    """Make a call with the OpenAI client and turn its errors into three kinds.

    Raises:
        Limited: HTTP 429, or another status with the code of a rate limit.
        NoResponse: No connection, no response in time (`TimedOut`), HTTP 5xx, or an unreadable response.
        Rejected: Any other status, including redirects.
    """
    try:
        return call()
    except (openai.APITimeoutError, httpx2.TimeoutException) as error:
        raise TimedOut from error
    except openai.APIStatusError as error:
        raise error_of_status(error.status_code, error.response.headers, body=error.body) from error
    except (openai.APIConnectionError, httpx2.HTTPError) as error:
        raise no_connection(error) from error
    except (openai.OpenAIError, *UNREADABLE) as error:
        raise NoResponse(f"unreadable response ({type(error).__name__})") from error


def no_connection(error: Exception) -> Exception:
    """Return the error for a response that did not arrive. It names a proxy that is to blame, and a limit."""
    cause = error.__cause__ if isinstance(error, openai.APIConnectionError) else error
    if isinstance(cause, UnusableProxy):
        return Rejected(str(cause))
    return NoResponse(str(cause) if isinstance(cause, httpx2.ProxyError | TooLong) else "no connection")


def error_of_status(status: int, headers: Mapping[str, str], *, body: object = None) -> Exception:
    """Return the error for an HTTP status. Its message quotes no text of the caller, as ``body`` may.

    A quota that is used up is no rate limit, whatever its status: no wait of minutes would help.
    """
    limits = rate_limit_headers(headers)
    if limits.retry_after_s is None:
        limits = replace(limits, retry_after_s=_duration_s(pause_in(body)))
    words = words_in(body)
    meaning = meaning_of(body) or _meaning_of_words(status, words, limits)
    # With HTTP 402 and a time to come, OpenRouter says that too much is under way at once.
    if meaning == "quota" or (status == 402 and limits.retry_after_s is None):
        return Rejected(f"HTTP {status}, no quota left", body=body)
    # A request that is too large by itself for a limit, as Groq says with HTTP 413, would never pass.
    if status in (402, 429) or (meaning == "limit" and status not in _OF_CONTENT):
        return Limited(limits, words=words, status=status)
    if status >= 500 or status in _OF_THE_MOMENT or meaning == "overload":
        return NoResponse(f"HTTP {status}", words=words)
    of_content = meaning == "content" or (status in _OF_CONTENT and meaning != "call")
    return Rejected(f"HTTP {status}{_hint(status, words)}", of_content=of_content, body=body)


def _hint(status: int, words: str) -> str:
    """Return what a status says of the address. A provider that knows the path names the model that it lacks."""
    if 300 <= status < 400:
        return " (redirects are not followed)"
    is_path = status == 405 or (status == 404 and "model" not in words.lower() and "deployment" not in words.lower())
    return " (nothing serves this path: is the address the provider's OpenAI-compatible one?)" if is_path else ""


def error_of_body(body: object) -> Exception:
    """Return the error that a provider sends without a status, such as with HTTP 200 or within a stream."""
    words = words_in(body)
    match meaning_of(body) or ("quota" if says_quota(words) else None):
        case "quota":
            return Rejected("no quota left", body=body)
        case "limit":
            return Limited(RateLimitHeaders(retry_after_s=_duration_s(pause_in(body))), words=words)
        case "content" | "call" as meaning:
            return Rejected("an error instead of a reply", of_content=meaning == "content", body=body)
        case _:
            return NoResponse("an error instead of a reply", words=words)


def _meaning_of_words(status: int, words: str, limits: RateLimitHeaders) -> Meaning | None:
    """Read the words of an error without a telling code. A provider that names a pause speaks of a limit."""
    return "quota" if status in (400, 403, 429) and limits.retry_after_s is None and says_quota(words) else None


def tokens_of(response: Mapping[str, Any], name: str = "total_tokens") -> int | None:
    """Return the tokens that the provider charges for a response, or None if it does not say."""
    usage = response.get("usage")
    tokens = usage.get(name) if isinstance(usage, Mapping) else None
    return tokens if isinstance(tokens, int) and tokens > 0 else None


def rate_limit_headers(headers: Mapping[str, str]) -> RateLimitHeaders:
    """Return the rate limit headers of a response. A value that cannot be read counts as missing."""
    return RateLimitHeaders(
        retry_after_s=retry_after_s(headers),
        requests_left=_count(headers.get("x-ratelimit-remaining-requests")),
        requests_reset_s=_duration_s(headers.get("x-ratelimit-reset-requests")),
        tokens_left=_count(headers.get("x-ratelimit-remaining-tokens")),
        tokens_reset_s=_duration_s(headers.get("x-ratelimit-reset-tokens")),
    )


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Return how many seconds to wait, at most `MAX_PAUSE_S`, or None if the headers say nothing of use.

    Reads ``retry-after-ms``, and ``retry-after`` as seconds or as an HTTP date (RFC 9110 §10.2.3). Without a time to
    come, the account chooses a pause, which grows from one HTTP 429 to the next.
    """
    exact = _seconds(headers.get("retry-after-ms"))
    if exact is not None:
        return _within_reason(exact / 1000)
    text = headers.get("retry-after")
    seconds = _seconds(text)
    if seconds is None and text:
        try:
            seconds = email.utils.parsedate_to_datetime(text).timestamp() - time.time()
        except (ValueError, TypeError, OverflowError, OSError):
            return None
    return _within_reason(seconds)


def _within_reason(seconds: float | None) -> float | None:
    return None if seconds is None or not 0 < seconds <= DAY_S else min(seconds, MAX_PAUSE_S)


def _count(text: str | None) -> int | None:
    return int(text) if text and re.fullmatch(r"\d{1,15}", text, re.ASCII) else None


def _duration_s(text: str | None) -> float | None:
    """Return the seconds until a limit has room again, as `_within_reason` has them."""
    return _within_reason(_seconds(text))


def _seconds(text: str | None) -> float | None:
    if not text:
        return None
    if re.fullmatch(_NUMBER, text, re.ASCII):
        return float(text)
    parts = _DURATION.findall(text)
    if "".join(number + unit for number, unit in parts) != text:
        return None
    return sum(float(number) * _SECONDS[unit] for number, unit in parts)
