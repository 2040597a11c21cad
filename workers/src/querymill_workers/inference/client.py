"""The OpenAI client as we use it: one per process, never waiting or retrying on its own."""

import json
import time

import openai

from querymill_workers.ports import Caller

#: What a client raises on bytes that are no answer at all (garbage, invalid UTF-8, JSON of another shape).
UNREADABLE = (json.JSONDecodeError, UnicodeDecodeError, ValueError, TypeError, AttributeError, KeyError)


def open_client(base_url: str, key: str, *, timeout_s: float) -> openai.OpenAI:
    """Open a client without retries of its own and without following redirects to another host.

    The library's defaults are two retries and ten minutes; our retries have a deadline.
    """
    return openai.OpenAI(
        base_url=base_url,
        api_key=key or "none",
        max_retries=0,
        timeout=timeout_s,
        http_client=openai.DefaultHttpxClient(follow_redirects=False, timeout=timeout_s),
    )


def time_left_s(caller: Caller, *, at_most: float) -> float:
    """Seconds a call may take: what is left of the caller's time, and never more than ``at_most``."""
    if caller.expires_at is None:
        return at_most
    return min(at_most, max(caller.expires_at - time.monotonic(), 0.01))


def reason_of(error: Exception) -> str:
    """Say what went wrong in a few words that hold no text of the caller's."""
    match error:
        case openai.APITimeoutError():
            return "no answer in time"
        case openai.APIStatusError():
            return f"HTTP {error.status_code}"
        case openai.APIConnectionError():
            return "no connection"
        case _:
            return f"unreadable answer ({type(error).__name__})"
