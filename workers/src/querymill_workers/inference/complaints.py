"""What a provider says of a request that it rejects: its words, and the parameters that it names."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from itertools import islice
from typing import Final

#: The longest words that are kept, in characters.
MAX_WORDS_CHARS: Final = 300
#: Words that have so many characters in a row from a text quote it.
QUOTED_CHARS: Final = 12

#: Fields that hold a provider's words, fields that name a parameter, and fields that may quote the request.
_WORDS: Final = ("message", "msg", "detail", "description", "error", "errors", "raw")
_NAMES: Final = ("param", "loc", "field", "parameter")
_QUOTING: Final = ("input", "ctx", "url", "value")
_MAX_DEPTH: Final = 6
#: Of what a provider says, so many statements are read, and so many characters of each.
_MAX_STATEMENTS: Final = 100
_MAX_STATEMENT_CHARS: Final = 2_000

#: A limit may be too high for one request. That is no reason to leave it out of every request.
_LIMITS: Final = ("max_completion_tokens", "max_tokens")
_OF_SIZE: Final = re.compile(
    r"too (?:large|long|high|big|many)|context[ _](?:length|window)|exceed|less than|at most|maximum|range|reached",
    re.IGNORECASE,
)
#: What providers call a parameter besides its name.
_ALSO_CALLED: Final = {
    "frequency_penalty": r"penalt(?:y|ies)",
    "response_format": r"json[ _-]?(?:schema|object|mode)|structured[ _-]?outputs?",
    "stream": r"streaming",
    "stream_options": r"include_usage",
}


def words_in(body: object) -> str:
    """Return the words of a provider in one line, or "" if there are none. They may quote the request."""
    said = dict.fromkeys(
        " ".join((words if not path or path[-1] in words else f"{'.'.join(path)}: {words}").split())
        for path, words in _read(body)
        if words
    )
    return "; ".join(said)[:MAX_WORDS_CHARS]


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
        yield [], body
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
