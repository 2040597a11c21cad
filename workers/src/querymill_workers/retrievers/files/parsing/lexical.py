"""Symbols recognised line by line, for languages without a grammar."""

import re
from collections.abc import Sequence
from typing import Final

from typing_extensions import override

from querymill_workers.retrievers.files.parsing.extents import placed
from querymill_workers.retrievers.files.parsing.patterns import KINDS, PATTERNS, LinePattern
from querymill_workers.retrievers.files.parsing.symbols import Gathered
from querymill_workers.retrievers.files.ports import Parsed, SourceParser
from querymill_workers.retrievers.files.rules.code import Symbol, lines_of
from querymill_workers.retrievers.files.rules.languages import language_of

#: The rest of a longer line is ignored.
MAX_LINE_CHARS: Final = 500

_NAME = "[A-Za-z_$][A-Za-z0-9_$]*"
#: Words before the name of a definition, for languages without patterns of their own.
_KINDS: Final = KINDS | {
    "def": "function",
    "fun": "function",
    "func": "function",
    "fn": "function",
    "sub": "function",
    "proc": "function",
    "typedef": "type",
    "typealias": "type",
}
_GENERIC: Final = tuple(
    word
    for word in _KINDS
    if word not in ("actor", "extension", "library", "contract", "union", "table", "view", "data", "type", "package",
                    "newtype", "procedure", "trigger", "rpc", "mixin")
)  # fmt: skip
_DEFINITION: Final = re.compile(f"(?<![A-Za-z0-9_$.])({'|'.join(_GENERIC)})[ \t]+({_NAME})")
_IMPORT: Final = re.compile(
    "^[ \t]*(?:#[ \t]*)?(?:import|from|use|using|require|require_once|require_relative|include|include_once|source)"
    f"(?![A-Za-z0-9_])[ \t(]*[\"'<]?((?:\\.{{0,2}}/)*{_NAME}(?:(?:\\.|::|/|\\\\|-){_NAME})*)"
)
_CALL: Final = re.compile(f"(?<![A-Za-z0-9_$])({_NAME})[ \t]?\\(")
_COMMENT: Final = re.compile("^[ \t]*(?:#(?!include)|//|--|\\*|/\\*|;|%)")
#: Methods of Objective-C and functions of Haskell begin like comments of other languages.
_NO_COMMENT: Final = ("- (", "-(", "-module")
_NEVER_CALLED: Final = frozenset(
    re.findall(
        "[a-z]+",
        "if elif elseif else for foreach while until switch match when case catch return throw in not and or do unless"
        " function def fun func fn sub proc using with assert print sizeof typeof new await yield super",
    )
)


class LexicalParser(SourceParser):
    """`SourceParser` without a grammar. A file of unknown language has no symbols."""

    version = 3

    @override
    def parse(self, path: str, content: str) -> Parsed:
        language = language_of(path, content)
        lines = [line[:MAX_LINE_CHARS] for line in lines_of(content)] if language else []
        patterns = PATTERNS.get(language, ())
        gathered = Gathered()
        defined: list[Symbol] = []
        for number, line in enumerate(lines, start=1):
            defined += _read(line, number, gathered, patterns)
        for symbol in placed(defined, lines, by_statement=language == "sql"):
            gathered.add(symbol)
        return Parsed(gathered.listed(), language, "words")


def _read(line: str, number: int, gathered: Gathered, patterns: Sequence[LinePattern]) -> list[Symbol]:
    """Add the imports and calls of a line; return what it defines."""
    if (brought := _IMPORT.match(line)) is not None:
        gathered.add(Symbol(re.sub(r"::|/|\\", ".", brought[1]).lstrip("."), "import", "module", number, number))
        return []
    if _COMMENT.match(line) is not None and not line.startswith(_NO_COMMENT):
        return []
    defined = _defined(line, number, patterns)
    names = {symbol.name for symbol in defined}
    for called in _CALL.finditer(line):
        if called[1] not in _NEVER_CALLED and called[1] not in names:
            gathered.add(Symbol(called[1], "call", "call", number, number))
    return defined


def _defined(line: str, number: int, patterns: Sequence[LinePattern]) -> list[Symbol]:
    if not patterns:
        return [
            Symbol(found[2], "definition", _KINDS[found[1]], number, number) for found in _DEFINITION.finditer(line)
        ]
    for pattern in patterns:
        found = pattern.pattern.match(line)
        if found is not None and found["name"] not in _NEVER_CALLED:
            return [Symbol(found["name"], "definition", pattern.kind_of(found), number, number)]
    return []
