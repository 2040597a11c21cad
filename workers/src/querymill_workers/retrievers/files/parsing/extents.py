"""Where definitions that were found by their first lines end, and what encloses them: by indentation."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from querymill_workers.retrievers.files.rules.code import Symbol

_WITH_METHODS: Final = frozenset({"class", "struct", "interface", "trait", "enum"})
_TAB: Final = 4
#: A line that closes a definition, or that goes on with it, though it is not indented further.
_CLOSES: Final = re.compile(r"[)\]}]|(?:end|fi|esac|done|END|#\})(?![A-Za-z0-9_])|\$\w*\$|@end")
_GOES_ON: Final = re.compile(
    r"\{|\)[^;]*\{?$|(?:do|then|begin|BEGIN|AS|as|IS|is|LANGUAGE|RETURNS|where|else|elsif|rescue|ensure|private|public)(?![A-Za-z0-9_(])|\|"
)
_BLANK: Final = re.compile(r"\s*(?:$|//|--|#(?!\})|\*|/\*)")


def placed(definitions: Sequence[Symbol], lines: Sequence[str], *, by_statement: bool = False) -> list[Symbol]:
    """Give definitions their last lines, and those in a class its name; a function in a class is a method.

    A definition lasts while lines are indented further than its first, and includes the line that closes it.

    Args:
        definitions: Definitions in the order of their lines, each with its first line only.
        lines: The lines of the file.
        by_statement: Whether a definition lasts until a line ends with a semicolon, as in SQL.
    """
    found: list[Symbol] = []
    around: list[Symbol] = []
    for symbol in definitions:
        last = _statement_end(symbol.line, lines) if by_statement else _last_line(symbol.line, lines)
        while around and around[-1].end_line < symbol.line:
            around.pop()
        whole = replace(symbol, end_line=last)
        if around and around[-1].line != symbol.line:
            is_method = symbol.kind == "function" and around[-1].kind in _WITH_METHODS
            whole = replace(
                whole, kind="method" if is_method else symbol.kind, qualifier=symbol.qualifier or around[-1].name
            )
        found.append(whole)
        around.append(whole)
    return found


def _last_line(first: int, lines: Sequence[str]) -> int:
    margin = _indentation(lines[first - 1])
    last = first
    is_open = True
    for number in range(first + 1, len(lines) + 1):
        line = lines[number - 1]
        if _BLANK.match(line):
            continue
        if _indentation(line) > margin:
            last, is_open = number, False
            continue
        text = line.strip()
        if _indentation(line) < margin:
            return last
        if _CLOSES.match(text) and not (is_open and number > first + 1):
            last = number
            if _GOES_ON.match(text) is None:
                return last
        elif _GOES_ON.match(text):
            last = number
        else:
            return last
    return last


def _statement_end(first: int, lines: Sequence[str]) -> int:
    quotes = 0
    for number in range(first, len(lines) + 1):
        quotes += len(re.findall(r"\$\w*\$", lines[number - 1]))
        if quotes % 2 == 0 and lines[number - 1].rstrip().endswith(";"):
            return number
    return len(lines)


def _indentation(line: str) -> int:
    return len(line[: len(line) - len(line.lstrip())].expandtabs(_TAB))
