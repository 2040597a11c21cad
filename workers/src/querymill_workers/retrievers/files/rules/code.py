"""Code as plain data: the symbols and chunks of a file, its lines, and the text that its words are read from."""

import re
from typing import Final, Literal

from querymill_shared.values import value

_JOINT: Final = re.compile(r"\.(?!(?<=[0-9]\.)[0-9])(?!(?<![A-Za-z0-9_)\]}\"'.]\.)[A-Za-z])")

#: The role of a name in a file: it is defined, imported, called or used as a type.
SymbolRole = Literal["definition", "import", "call", "type"]


@value
class Symbol:
    """A name in a file. Lines count from 1.

    Every definition is a symbol of its own (``kind``: class, function, method, type, constant…). Imports, calls and
    types are listed once per name and qualifier, with their first line; ``times`` counts their occurrences.

    The ``qualifier`` of a definition is what encloses it (``QoS`` for a method), that of an import is the module it
    comes from, that of a call is the dotted name before it. An import of a whole module has the kind "module" and a
    dotted name, such as ``kombu.transport``.
    """

    name: str
    role: SymbolRole
    kind: str
    line: int
    end_line: int
    qualifier: str = ""
    times: int = 1


@value
class CodeChunk:
    """A text of a file that is embedded: the first lines of a definition, or of a piece outside of all.

    ``number`` counts from 0. ``line`` and ``end_line`` are those of the whole definition, whose name with what encloses
    it is ``symbol``.
    """

    number: int
    line: int
    end_line: int
    text: str
    symbol: str = ""


def lines_of(content: str) -> list[str]:
    """Split a file into lines as parsers and editors count them: at line feeds only.

    A form feed or U+2028 does not end a line. A line feed at the end of the file does not start another line.
    """
    lines = content.split("\n")
    return [line.rstrip("\r") for line in (lines if lines[-1] else lines[:-1])]


def code_text(text: str) -> str:
    """Split dotted names, so that each part becomes a word; applied to paths, contents and queries alike.

    ``self.channel.basic_ack`` then has the word ``basic_ack``, which the tokeniser does not see in a dotted name. The
    dots of numbers and versions stay, and so does the one that ``.NET`` begins with.
    """
    return _JOINT.sub(" ", text)
