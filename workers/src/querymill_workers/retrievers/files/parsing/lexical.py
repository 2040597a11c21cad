"""Symbols recognised line by line, for languages without a grammar."""

import re
from typing import Final

from querymill_workers.retrievers.files.parsing.languages import language_of
from querymill_workers.retrievers.files.parsing.symbols import Gathered
from querymill_workers.retrievers.files.ports import Parsed
from querymill_workers.retrievers.files.rules.code import Symbol

#: The rest of a longer line is ignored.
MAX_LINE_CHARS: Final = 500

_NAME = "[A-Za-z_$][A-Za-z0-9_$]*"
_KINDS: Final = {
    "class": "class",
    "interface": "interface",
    "protocol": "interface",
    "trait": "trait",
    "struct": "struct",
    "record": "class",
    "object": "class",
    "enum": "enum",
    "message": "class",
    "service": "class",
    "module": "module",
    "def": "function",
    "fun": "function",
    "func": "function",
    "function": "function",
    "fn": "function",
    "sub": "function",
    "proc": "function",
    "typedef": "type",
    "typealias": "type",
}
_DEFINITION: Final = re.compile(f"(?<![A-Za-z0-9_$.])({'|'.join(_KINDS)})[ \t]+({_NAME})")
_IMPORT: Final = re.compile(
    "^[ \t]*(?:#[ \t]*)?(?:import|from|use|using|require|require_once|require_relative|include|include_once|source)"
    f"(?![A-Za-z0-9_])[ \t(]*[\"'<]?((?:\\.{{0,2}}/)*{_NAME}(?:(?:\\.|::|/|\\\\|-){_NAME})*)"
)
_CALL: Final = re.compile(f"(?<![A-Za-z0-9_$])({_NAME})[ \t]?\\(")
_COMMENT: Final = re.compile("^[ \t]*(?:#(?!include)|//|--|\\*|/\\*|;|%)")
_NEVER_CALLED: Final = frozenset(
    re.findall(
        "[a-z]+",
        "if elif elseif else for foreach while until switch match when case catch return throw in not and or do unless"
        " function def fun func fn sub proc using with assert print sizeof typeof new await yield super",
    )
)


class LexicalParser:
    """`SourceParser` without a grammar. A file of unknown language has no symbols."""

    version = 2

    def language_of(self, path: str, content: str) -> str:
        """See `SourceParser.language_of`."""
        return language_of(path, content)

    def parse(self, path: str, content: str) -> Parsed:
        """See `SourceParser.parse`."""
        language = language_of(path, content)
        gathered = Gathered()
        for number, line in enumerate(content.split("\n") if language else [], start=1):
            _read(line[:MAX_LINE_CHARS], number, gathered)
        return Parsed(gathered.listed(), language, "words")


def _read(line: str, number: int, gathered: Gathered) -> None:
    if (brought := _IMPORT.match(line)) is not None:
        gathered.add(Symbol(re.sub(r"::|/|\\", ".", brought[1]).lstrip("."), "import", "module", number, number))
        return
    if _COMMENT.match(line) is not None:
        return
    defined = set()
    for found in _DEFINITION.finditer(line):
        defined.add(found[2])
        gathered.add(Symbol(found[2], "definition", _KINDS[found[1]], number, number))
    for called in _CALL.finditer(line):
        if called[1] not in _NEVER_CALLED and called[1] not in defined:
            gathered.add(Symbol(called[1], "call", "call", number, number))
