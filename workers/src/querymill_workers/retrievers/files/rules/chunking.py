"""What is embedded of a file: a text for each definition, and one for each piece that is outside of all."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from querymill_workers.retrievers.files.rules.code import CodeChunk, Symbol, lines_of
from querymill_workers.retrievers.files.rules.definitions import Definition, definitions_of
from querymill_workers.text.passages import split_text

#: Raise this with every change of these rules or of the embedded text: stored files are then ingested again.
CODE_CHUNKING_VERSION: Final = 4
#: Characters of a definition that are embedded: what says what it is for. Its words are searched in whole.
HEAD_CHARS: Final = 400
#: Characters of a piece outside of all definitions that are embedded.
PIECE_CHARS: Final = 800


def chunk_code(
    content: str, symbols: Sequence[Symbol], *, count_tokens: Callable[[str], int], size: int = 400
) -> list[CodeChunk]:
    """Return the texts of a file that are embedded, in the order of their lines, each of at most ``size`` tokens.

    Of a definition these are its first lines, up to 400 characters: the comments above it, its signature and how its
    docstring begins. Lines of a method are not lines of its class. What is outside of all definitions is cut into
    pieces of up to 40 lines, and each gives its first 800 characters. What holds no letter or digit gives no text.

    Args:
        content: The file.
        symbols: The symbols of the file; only definitions are used.
        count_tokens: Counts the tokens of a text.
        size: Tokens that a text may have.
    """
    lines = lines_of(content)
    heads = [(each, _head(each, lines)) for each in definitions_of(content, symbols)]
    return [
        CodeChunk(number, *definition.lines, _cut(head, size, count_tokens), definition.label)
        for number, (definition, head) in enumerate(each for each in heads if any(map(str.isalnum, each[1])))
    ]


def embedded_text(path: str, symbol: str, text: str) -> str:
    """Return the text that is embedded for a chunk: its path and symbol, then its lines."""
    return f"{path} {symbol}".rstrip() + f"\n{text}"


def _head(definition: Definition, lines: Sequence[str]) -> str:
    """Return the first lines of a definition, without blank ones; the last one may be cut."""
    size = HEAD_CHARS if definition.name else PIECE_CHARS
    own = (lines[number - 1].rstrip() for first, last in definition.own for number in range(first, last + 1))
    return "\n".join(_first((line for line in own if line), size))[:size]


def _first(lines: Iterable[str], size: int) -> Iterator[str]:
    """Yield lines until they have so many characters."""
    taken = 0
    for line in lines:
        if taken >= size:
            return
        yield line
        taken += len(line) + 1


def _cut(text: str, size: int, count_tokens: Callable[[str], int]) -> str:
    """Cut a text that has more tokens than the model reads."""
    if count_tokens(text) <= size:
        return text
    span = split_text(text, max_tokens=size, estimate=count_tokens)[0]
    return text[span.start : span.end].rstrip()
