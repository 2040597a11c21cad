"""Cut pages into chunks: small enough to embed, never across pages, and with tables whole if they fit."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from querymill_shared.values import value
from querymill_workers.retrievers.reports.rules.layout import LineBlock, blocks, header_rows, sentences

#: Raise it with every change of these rules, so that stored chunks and newly cut ones never mix.
CHUNKING_VERSION: Final = 1


@value
class PageText:
    """The text of one page, and its number in the document."""

    page: int
    text: str


@value
class Chunk:
    """A piece of a page. ``number`` counts the chunks of the document from 0; ``tokens`` is the sum over its parts."""

    page: int
    number: int
    text: str
    tokens: int


@value
class _Part:
    """A text, its tokens, and the finer parts that it consists of.

    A ``whole`` part is split only if it is too long for a chunk.
    """

    text: str
    tokens: int
    finer: tuple["_Part", ...] = ()
    whole: bool = True
    table: bool = False

    def finest(self) -> Iterator["_Part"]:
        """Yield the parts that have no finer parts, in order."""
        if self.finer:
            for part in self.finer:
                yield from part.finest()
        else:
            yield self


def chunk_pages(
    pages: Sequence[PageText], *, count_tokens: Callable[[str], int], size: int = 300, overlap: int = 50
) -> list[Chunk]:
    """Cut the pages of a document into chunks of at most ``size`` tokens.

    A page is cut between paragraphs, then lines, then sentences (English and Chinese), and only then
    anywhere. A chunk that is less than half full takes the first lines of a paragraph that does not fit as a
    whole. A table, in Markdown or in columns, stays whole if it fits. A longer table is cut between rows, and
    every piece repeats its header. Every line that is not blank is in some chunk, and in one piece if it fits.

    Args:
        pages: The pages in order. A page without text gives no chunk.
        count_tokens: Counts the tokens of a text. It is called once for each part, and the counts are added.
        size: Maximum number of tokens in a chunk.
        overlap: Maximum number of tokens that a chunk repeats from the end of the chunk before it, in whole
            lines or sentences. Tables are not repeated.

    Raises:
        ValueError: ``size`` is not above ``overlap``, or ``overlap`` is negative.
    """
    if not 0 <= overlap < size:
        raise ValueError(f"chunks of {size} tokens cannot overlap by {overlap}")
    cutter = _Cutter(count_tokens, size, overlap)
    chunks: list[Chunk] = []
    for page in pages:
        packer = _Packer(size, overlap)
        for block in blocks(page.text):
            packer.place(cutter.part(block))
        for text, tokens in packer.finish():
            chunks.append(Chunk(page.page, len(chunks), text, tokens))
    return chunks


@value
class _Cutter:
    """Turns a block of lines into parts, the finest of which have at most ``size`` tokens."""

    count_tokens: Callable[[str], int]
    size: int
    overlap: int

    def part(self, block: LineBlock) -> _Part:
        if block.table:
            return self._table(block.lines)
        lines = [self._line(line + "\n") for line in block.lines[:-1]]
        return _joined([*lines, self._line(block.lines[-1] + "\n\n")], whole=False)

    def _line(self, line: str) -> _Part:
        """Cut a line into sentences if it is longer than the overlap of chunks."""
        tokens = self.count_tokens(line)
        cut = sentences(line) if tokens > self.overlap else [line]
        if len(cut) > 1:
            return _joined([piece for sentence in cut for piece in self._pieces(sentence, self.size)])
        return _Part(line, tokens) if tokens <= self.size else _joined(self._pieces(line, self.size))

    def _pieces(self, text: str, max_tokens: int) -> list[_Part]:
        """Cut a text into parts of at most ``max_tokens`` tokens, at blanks if possible."""
        done: list[_Part] = []
        left = [text]
        while left:
            piece = left.pop()
            tokens = self.count_tokens(piece)
            if tokens <= max_tokens or len(piece) == 1:
                done.append(_Part(piece, tokens))
            else:
                left.extend(reversed(_slices(piece, tokens // max_tokens + 1)))
        return done

    def _table(self, lines: Sequence[str]) -> _Part:
        rows = [_Part(line + "\n", self.count_tokens(line + "\n")) for line in lines]
        tokens = sum(row.tokens for row in rows)
        if tokens <= self.size:
            return _Part("".join(row.text for row in rows) + "\n", tokens, table=True)
        header = rows[: header_rows(lines)]
        if sum(row.tokens for row in header) > self.size // 2:
            header = []
        pieces = self._under_header(header, rows[len(header) :])
        return _Part("", sum(piece.tokens for piece in pieces), tuple(pieces), whole=False)

    def _under_header(self, header: list[_Part], rows: list[_Part]) -> list[_Part]:
        """Fill pieces with rows, each piece under the header. A row that leaves no room for the header stands alone."""
        budget = self.size - sum(row.tokens for row in header)
        filled: list[list[_Part]] = [[]]
        used = 0
        for part in self._short_enough(rows):
            if used + part.tokens > budget:
                filled.append([])
                used = 0
            filled[-1].append(part)
            used += part.tokens
        pieces = [_joined(parts if parts and parts[0].tokens > budget else header + parts) for parts in filled]
        return [_Part(piece.text + "\n", piece.tokens, table=True) for piece in pieces]

    def _short_enough(self, rows: list[_Part]) -> Iterator[_Part]:
        for row in rows:
            yield from [row] if row.tokens <= self.size else self._pieces(row.text, self.size)


@dataclass(slots=True)
class _Packer:
    """Fills the chunks of one page, in order."""

    size: int
    overlap: int
    _closed: list[tuple[str, int]] = field(default_factory=list)
    _open: list[_Part] = field(default_factory=list)
    _used: int = 0

    def place(self, part: _Part) -> None:
        """Add a part to the open chunk or to a new one, or add its finer parts one by one."""
        if self._used + part.tokens <= self.size:
            self._take(part)
        elif part.finer and (part.tokens > self.size or not (part.whole or self._used * 2 >= self.size)):
            for finer in part.finer:
                self.place(finer)
        else:
            self._close(budget=self.size - part.tokens)
            self._take(part)

    def finish(self) -> list[tuple[str, int]]:
        """Return the text and the tokens of every chunk."""
        self._close(budget=0)
        return self._closed

    def _take(self, part: _Part) -> None:
        self._open.extend(part.finest())
        self._used += part.tokens

    def _close(self, *, budget: int) -> None:
        text = "".join(part.text for part in self._open).lstrip("\n").rstrip()
        if text:
            self._closed.append((text, self._used))
        self._open = self._tail(min(budget, self.overlap))
        self._used = sum(part.tokens for part in self._open)

    def _tail(self, budget: int) -> list[_Part]:
        """Return the last parts of the open chunk that fit into the budget, back to a table at most."""
        tail: list[_Part] = []
        for part in reversed(self._open):
            budget -= part.tokens
            if part.table or budget < 0:
                break
            tail.append(part)
        return tail[::-1]


def _joined(parts: Sequence[_Part], *, whole: bool = True) -> _Part:
    text = "".join(part.text for part in parts)
    return _Part(text, sum(part.tokens for part in parts), tuple(parts), whole)


def _slices(text: str, pieces: int) -> list[str]:
    """Cut a text into about ``pieces`` pieces of equal length, at a blank if there is one nearby."""
    length = max(1, -(-len(text) // pieces))
    slices: list[str] = []
    start = 0
    while len(text) - start > length:
        blank = text.rfind(" ", start + length // 2, start + length)
        end = start + length if blank < 0 else blank + 1
        slices.append(text[start:end])
        start = end
    slices.append(text[start:])
    return slices
