"""The OpenAI client, without retries of its own, and the errors and headers of providers."""

import email.utils
import json
import re
import time
from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

import httpx
import openai

from querymill_shared.values import frozen
from querymill_workers.inference.account import RateLimitHeaders
from querymill_workers.inference.bounded import BoundedClient, TooLong

T = TypeVar("T")
U = TypeVar("U")

#: What a client raises for a malformed response: garbage, invalid UTF-8, JSON of another shape, too deep or too long.
UNREADABLE = (
    json.JSONDecodeError, UnicodeDecodeError, ValueError, TypeError, AttributeError, LookupError, RecursionError,
    OverflowError, MemoryError,
)  # fmt: skip
#: A response of a chat model has at most so many bytes: thousands of tokens with all that a stream says of each.
MAX_RESPONSE_BYTES = 16_000_000
#: Of what a provider says of an error, so many characters are looked at.
MAX_WORDS_CHARS = 1_000
#: A provider's pause is cut to this, in seconds. One that asks for more than a day says nothing about its limit.
MAX_PAUSE_S, DAY_S = 600.0, 86_400.0
#: Statuses that may be due to one of several texts.
_OF_CONTENT = (400, 413, 422)
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
    key or address is no matter of content. ``words`` is what the provider said, which may quote a text.
    """

    def __init__(self, reason: str, *, of_content: bool = False, words: str = "") -> None:
        super().__init__(reason)
        self.of_content = of_content
        self.words = words


class Limited(Exception):
    """The provider rate-limited the call (HTTP 429)."""

    def __init__(self, limits: RateLimitHeaders) -> None:
        super().__init__("HTTP 429")
        self.limits = limits


@frozen
class ProviderResponse(Generic[T]):
    """The value of a response, the tokens it was charged (None: not reported), and its rate limit headers."""

    value: T
    tokens: int | None
    limits: RateLimitHeaders


def open_client(
    base_url: str, key: str, *, timeout_s: float, most_bytes: int = MAX_RESPONSE_BYTES
) -> openai.OpenAI:  # fmt: skip
    """Open a client that neither retries nor follows redirects, and reads responses of at most ``most_bytes``.

    By default the library retries twice and waits ten minutes. The gateway retries instead, within the deadline.
    """
    http_client: Any = BoundedClient(timeout_s=timeout_s, most_bytes=most_bytes)  # of either release of httpx
    return openai.OpenAI(
        base_url=base_url, api_key=key or "none", max_retries=0, timeout=timeout_s, http_client=http_client
    )


def make_call(call: Callable[[], U]) -> U:
    """Make a call with the OpenAI client and turn its errors into three kinds.

    Raises:
        Limited: HTTP 429.
        NoResponse: No connection, no response in time (`TimedOut`), HTTP 5xx, or an unreadable response.
        Rejected: Any other status, including redirects.
    """
    try:
        return call()
    except (openai.APITimeoutError, httpx.TimeoutException) as error:
        raise TimedOut from error
    except openai.APIStatusError as error:
        raise error_of_status(error.status_code, error.response.headers, words=_words_of(error.body)) from error
    except (openai.APIConnectionError, httpx.HTTPError) as error:
        raise NoResponse(reason_of(error)) from error
    except (openai.OpenAIError, *UNREADABLE) as error:
        raise NoResponse(f"unreadable response ({type(error).__name__})") from error


def reason_of(error: Exception) -> str:
    """Return why no response arrived. It quotes nothing of a request."""
    told = next((cause for cause in (error, error.__cause__) if isinstance(cause, TooLong)), None)
    return "no connection" if told is None else str(told)


def error_of_status(status: int, headers: Mapping[str, str], *, words: str = "") -> Exception:
    """Return the error for an HTTP status. Its message quotes no text of the caller, as ``words`` may."""
    if status == 429:
        return Limited(rate_limit_headers(headers))
    if status >= 500 or status in (408, 409, 425):
        return NoResponse(f"HTTP {status}", words=words)
    redirected = " (redirects are not followed)" if 300 <= status < 400 else ""
    return Rejected(f"HTTP {status}{redirected}", of_content=status in _OF_CONTENT, words=words)


def _words_of(body: object) -> str:
    """Return what a provider said about an error; the client has unwrapped ``{"error": …}`` already."""
    said = body.get("message", body.get("detail")) if isinstance(body, Mapping) else body
    return said[:MAX_WORDS_CHARS] if isinstance(said, str) else ""


def tokens_of(response: object, name: str = "total_tokens") -> int | None:
    """Return the tokens that the provider charges for a response, or None if it does not say."""
    tokens = getattr(getattr(response, "usage", None), name, None)
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
