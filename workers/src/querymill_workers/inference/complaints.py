"""What a provider says of a request that it rejects: its words, and the parameters that it names."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from itertools import islice
from typing import Final, Literal

#: The longest words that are kept, in characters.
MAX_WORDS_CHARS: Final = 300
#: Words that have so many characters in a row from a text quote it.
QUOTED_CHARS: Final = 12

#: Fields that hold a provider's words, fields that name a parameter, and fields that may quote the request.
_WORDS: Final = (
    "message", "msg", "detail", "description", "error", "errors", "raw", "error_msg", "status_msg", "errmsg",
)  # fmt: skip
_NAMES: Final = ("param", "loc", "field", "parameter")
_QUOTING: Final = ("input", "ctx", "url", "value")
_MAX_DEPTH: Final = 6
#: Fields that hold a provider's code, the most telling first, and what a code looks like. Some codes say nothing.
_CODES: Final = ("code", "error_type", "type", "status", "reason")
_CODE: Final = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[_.-][A-Za-z0-9]+)*", re.ASCII)
_OF_NO_USE: Final = (
    "",
    "error",
    "api_error",
    "invalid_request_error",
    "bad_request",
    "badrequesterror",
    "none",
    "null",
)
#: Of what a provider says, so many statements are read, and so many characters of each.
_MAX_STATEMENTS: Final = 100
_MAX_STATEMENT_CHARS: Final = 2_000
#: Of a page in place of an error, only the words count, of so many characters.
_MAX_PAGE_CHARS: Final = 4_000
_TAGS: Final = re.compile(r"<(script|style)\b.*?</\1>|<!--.*?-->|<[^<>]*>", re.IGNORECASE | re.DOTALL)

#: The codes of each meaning. A quota is none of the limits that pass by themselves within minutes.
_MEANINGS: Final[Mapping["Meaning", frozenset[str]]] = {
    "quota": frozenset((
        "insufficient_quota", "insufficient_user_quota", "quota_exceeded", "exceeded_current_quota_error",
        "insufficient_balance", "insufficient_credits", "insufficient_funds", "billing_hard_limit_reached",
        "billing_not_active", "payment_required", "credit_balance_too_low", "arrearage", "billing_error",
        "credit_limit", "enforced_spend_limit_reached",
    )),
    "limit": frozenset((
        "rate_limit_exceeded", "rate_limit_error", "rate_limited", "too_many_requests", "resource_exhausted",
        "tokens_limit_exceeded", "requests_limit_exceeded", "rate_limit", "slow_down",
    )),
    "overload": frozenset((
        "capacity_exceeded", "overloaded", "overloaded_error", "server_is_overloaded", "service_unavailable_error",
    )),
    "content": frozenset((
        "content_filter", "content_policy_violation", "responsibleaipolicyviolation", "data_inspection_failed",
        "context_length_exceeded", "exceed_context_size_error", "string_above_max_length", "invalid_prompt",
        "unprocessable_content", "moderation_blocked",
    )),
    "call": frozenset((
        "model_not_found", "model_not_available", "deploymentnotfound", "not_found", "not_found_error",
        "invalid_api_key", "invalid_authentication", "authentication_error", "unauthenticated", "permission_denied",
        "permission_error",
    )),
}  # fmt: skip
_QUOTA: Final = re.compile(
    r"(?:insufficient|not enough|out of|no) (?:account )?(?:balance|credits?|quota|funds)"
    r"|balance is (?:too low|insufficient)|exceeded your current quota|billing (?:hard )?limit"
    r"|quota (?:is )?(?:used up|exhausted)|payment required|maximum billing reached"
    r"|余额不足|欠费"
    r"|credits? (?:balance )?(?:is|are|has been|have been) (?:depleted|exhausted|used up)",
    re.IGNORECASE,
)
#: A limit may be too high for one request. That is no reason to leave it out of every request.
_LIMITS: Final = ("max_completion_tokens", "max_tokens")
_OF_SIZE: Final = re.compile(
    r"too (?:large|long|high|big|many)|context[ _](?:length|window)|exceed|less than|at most|maximum|range|reached",
    re.IGNORECASE,
)
#: What providers say of a request with too many texts, and a number that is no part of a name.
_OF_COUNT: Final = re.compile(
    r"batch|number of (?:texts|inputs|items|requests)|(?:texts|inputs|items|requests) (?:per|in) |array|list size"
    r"|too many (?:texts|inputs|items)",
    re.IGNORECASE,
)
_A_COUNT: Final = re.compile(r"(?<![\w.-])\d{1,5}(?![.-]?\w)", re.ASCII)
#: What providers call a parameter besides its name.
_ALSO_CALLED: Final = {
    "frequency_penalty": r"penalt(?:y|ies)",
    "response_format": r"json[ _-]?(?:schema|object|mode)|structured[ _-]?outputs?|grammar",
    "stream": r"streaming",
    "stream_options": r"include_usage",
}


def words_in(body: object) -> str:
    """Return the words of a provider in one line, or "" if there are none. They may quote the request.

    The provider's own code stands behind them, unless they say it.
    """
    said = dict.fromkeys(
        " ".join((words if not path or path[-1] in words else f"{'.'.join(path)}: {words}").split())
        for path, words in _read(body)
        if words
    )
    words, code = "; ".join(said)[:MAX_WORDS_CHARS], code_in(body)
    is_said = code.lower() in words.lower() or code.lower() in _OF_NO_USE
    return words if is_said else f"{words} ({code})" if words else code


def code_in(body: object) -> str:
    """Return the code that a provider gives an error, such as ``insufficient_quota``, or "" if it gives none."""
    found = dict(_codes(body))
    return next((found[name] for name in _CODES if name in found), "")


#: What a provider's code says of an error, whatever its status: the account has no money left, too many calls were
#: made, the provider has no room for a moment, the texts are at fault, or the call itself is, with any texts.
Meaning = Literal["quota", "limit", "overload", "content", "call"]


def meaning_of(body: object) -> Meaning | None:
    """Return what the code of an error means, or None if it has none that is known."""
    found = {code.lower() for _, code in _codes(body)}
    return next((meaning for meaning, codes in _MEANINGS.items() if found & codes), None)


def says_quota(words: str) -> bool:
    """Return whether words say that the account's quota or balance is used up. A code says it better."""
    return bool(_QUOTA.search(words))


def pause_in(body: object) -> str:
    """Return the pause that the body of an error asks for, such as ``36s``, or "" (Google's RetryInfo)."""
    return next((code for name, code in _fields(body, ("retryDelay",))), "")


def _codes(body: object) -> Iterator[tuple[str, str]]:
    """Yield the codes of an error by the names of their fields, the outermost last."""
    return ((name, code) for name, code in _fields(body, _CODES) if _CODE.fullmatch(code))


def _fields(body: object, names: Collection[str], depth: int = 0) -> Iterator[tuple[str, str]]:
    """Yield the texts of such fields anywhere in an error, the outermost last."""
    if isinstance(body, Mapping | list) and depth < _MAX_DEPTH:
        parts = body.values() if isinstance(body, Mapping) else body
        for part in islice(parts, _MAX_STATEMENTS):
            yield from _fields(part, names, depth + 1)
    if isinstance(body, Mapping):
        yield from ((name, said) for name in names if isinstance(said := body.get(name), str))


def parameters_in(body: object, sent: Collection[str]) -> list[str]:
    """Return which of the parameters that were sent a provider complains about.

    Those that it names in a field of their own come all, in their order. Else it is the one that its words name first:
    the words may go on with parameters that it does support.
    """
    statements = _read(body)
    found = {name: None for path, words in statements for name in path if _is_refused(name, words, sent)}
    if found:
        return list(found)
    named = [
        (place.start(), name)
        for _, words in statements
        for name in sent
        if (place := _calling(name).search(words)) and _is_refused(name, words, sent)
    ]
    return [min(named)[1]] if named else []


def texts_limit_in(words: str, sent: int) -> int | None:
    """Return how many texts a request may hold, if a provider says that the ``sent`` ones were too many.

    It says it in a number that is smaller than theirs.
    """
    if not _OF_COUNT.search(words) or "token" in words.lower():
        return None
    return max((number for each in _A_COUNT.findall(words) if 0 < (number := int(each)) < sent), default=None)


def _is_refused(name: str, words: str, sent: Collection[str]) -> bool:
    return name in sent and not (name in _LIMITS and _OF_SIZE.search(words))


@cache
def _calling(name: str) -> re.Pattern[str]:
    """Match a parameter's name in any spelling (``maxTokens``, ``max tokens``), and what else it is called."""
    # "stream" and "truncate" are words of any sentence, so these count only as names.
    spelled = name.replace("_", "[ _-]?") if "_" in name or name == "temperature" else f"['\"`]{name}['\"`]"
    also = f"|{_ALSO_CALLED[name]}" if name in _ALSO_CALLED else ""
    return re.compile(rf"(?<![A-Za-z0-9_])(?:{spelled}{also})(?![A-Za-z0-9_])", re.IGNORECASE)


def _read(body: object) -> list[tuple[list[str], str]]:
    """Return the first statements of an error, each cut to a length."""
    return [(path, words[:_MAX_STATEMENT_CHARS]) for path, words in islice(_statements(body), _MAX_STATEMENTS)]


def _statements(body: object, depth: int = 0) -> Iterator[tuple[list[str], str]]:
    """Yield each statement of an error: the path of what it is about, which may be empty, and its words."""
    if isinstance(body, str):
        yield [], _TAGS.sub(" ", body[:_MAX_PAGE_CHARS]) if body.lstrip().startswith("<") else body
    elif depth < _MAX_DEPTH and isinstance(body, list):
        for part in body:
            yield from _statements(part, depth + 1)
    elif depth < _MAX_DEPTH and isinstance(body, Mapping):
        path = next((path for name in _NAMES if (path := _path(body.get(name)))), [])
        words = [said for name in _WORDS if isinstance(said := body.get(name), str)]
        for said in words or ([""] if path else []):
            yield path, said
        for name, part in body.items():
            if isinstance(part, Mapping | list) and name not in (*_NAMES, *_QUOTING):
                yield from _statements(part, depth + 1)


def _path(named: object) -> list[str]:
    """Return the path of a parameter: ``["body", "stream"]`` and ``"stream_options.include_usage"`` without "body"."""
    parts = re.split(r"[.\[\]/]+", named) if isinstance(named, str) else named if isinstance(named, list) else []
    path = [str(part) for part in parts if str(part)]
    return path[1:] if path[:1] == ["body"] else path


def hide_quotes(words: str, texts: Iterable[str]) -> str:
    """Return words with ``…`` in place of what they quote of the texts: `QUOTED_CHARS` in a row, or a short text."""
    said = _folded(words)
    hidden = [False] * len(said)
    for text in texts:
        source = _folded(" ".join(text.split()))
        size = min(len(source), QUOTED_CHARS)
        for at in range(len(said) - size + 1 if size else 0):
            if said[at : at + size] in source:
                hidden[at : at + size] = [True] * size
    return re.sub(r"\0+", "…", "".join("\0" if hides else word for word, hides in zip(words, hidden, strict=True)))


def _folded(text: str) -> str:
    """Fold the case of a text, but keep the number of its characters."""
    return "".join(low if len(low := char.lower()) == 1 else char for char in text)
