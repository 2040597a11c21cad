"""What is known of a file of code: its symbols, its chunks, and the text its words are taken from."""

from dataclasses import dataclass
from typing import Literal

#: What a name does in a file: it is defined there, imported, called, or stands for a type.
SymbolRole = Literal["definition", "import", "call", "type"]


@dataclass(frozen=True, slots=True)
class Symbol:
    """A name in a file. Lines count from 1.

    Every definition stands alone (``kind``: class, function, method, type, constant…). An import, call or type is
    listed once per file and qualifier, with its first line, and ``times`` says how often it is there.

    ``qualifier``: of a definition what encloses it (``QoS`` of a method), of an import the module it is from
    (the name of a whole module is dotted, as ``kombu.transport``, and its kind is "module"), of a call the
    dotted name before it.
    """

    name: str
    role: SymbolRole
    kind: str
    line: int
    end_line: int
    qualifier: str = ""
    times: int = 1


@dataclass(frozen=True, slots=True)
class CodeChunk:
    """Whole lines of a file, few enough to embed; ``number`` runs from 0, ``symbol`` is what they are part of."""

    number: int
    line: int
    end_line: int
    text: str
    symbol: str = ""


def lines_of(content: str) -> list[str]:
    """Part a file into lines as parsers and editors count them: at line feeds alone.

    A form feed or U+2028 is within its line; the last line feed ends a line and begins none.
    """
    lines = content.split("\n")
    return [line.rstrip("\r") for line in (lines if lines[-1] else lines[:-1])]


def code_text(text: str) -> str:
    """Part dotted names, before their words are taken: of content and path, and of every query for them.

    ``self.channel.basic_ack`` gives the word ``basic_ack`` whole, which it would not as one dotted name.
    """
    return text.replace(".", " ")
