"""The evidence for a file: what speaks for it, in numbers and in words, and how relevant that makes it."""

from collections.abc import Sequence
from typing import Final

from querymill_shared.values import value
from querymill_workers.retrievers.files.notes import DefinitionNotes, FileNotes
from querymill_workers.retrievers.files.ports import FilePorts
from querymill_workers.retrievers.files.rules.cells import cells_label, cells_of
from querymill_workers.retrievers.files.rules.code import Symbol, lines_of
from querymill_workers.retrievers.files.rules.context import shown
from querymill_workers.retrievers.files.rules.definitions import (
    ScoredDefinition,
    definitions_of,
    lifted,
    score_of_file,
    scored_definitions,
)
from querymill_workers.retrievers.files.rules.excerpts import excerpt, shown_lines
from querymill_workers.retrievers.files.rules.gaps import used_in
from querymill_workers.retrievers.files.rules.intent import Intent, grepped, speaking
from querymill_workers.retrievers.files.rules.kinds import FileKind
from querymill_workers.retrievers.files.rules.relevance import evidence_of, relevance, rounded
from querymill_workers.retrievers.files.rules.structure import Expected, raised
from querymill_workers.text.bm25 import Scored
from querymill_workers.vectors.rules.weights import VectorsWeight

#: Words and names that the result shows of a file.
SHOWN_WORDS: Final = 6
SHOWN_NAMES: Final = 3
#: Definitions of a file that the context may show.
PARTS: Final = 16
#: Best definitions of a file whose uses may be gaps.
USING: Final = 3


@value
class SourceText:
    """A candidate as it is stored: its content, what reading it costs, its symbols, and its kind."""

    path: str
    content: str
    tokens: int
    symbols: Sequence[Symbol]
    kind: FileKind

    @property
    def defines(self) -> Sequence[str]:
        """The names it defines, in order."""
        return [symbol.name for symbol in self.symbols if symbol.role == "definition"]


def weigh(
    text: SourceText,
    intent: Intent,
    scored: Scored | None,
    cosine: float | None,
    expected: Expected,
    ports: FilePorts,
    weight: VectorsWeight | None = None,
) -> FileNotes:
    """Note what speaks for a file, in numbers and in words, and how relevant that makes it.

    ``weight`` is that of the vectors, None if nothing is known of them.
    """
    found = scored_definitions(intent, text.content, definitions_of(text.content, text.symbols))
    best = lifted(found, gains=expected.gains, lines=expected.lines.get(text.path, ()))
    of_definitions = score_of_file(scored_one.score for scored_one in found)
    names, grep = speaking(intent, text.defines), grepped(intent, text.content)
    passage = found[0].words if found else ()
    evidence = rounded(
        evidence_of(
            intent, scored, path=text.path, names=names, passage=passage, definitions=of_definitions, cosine=cosine
        )
    )
    own = relevance(evidence, ports.file_profiles, weight)
    worth, reason = raised(own, text.path, text.kind, text.symbols, expected)
    held = sorted(scored.terms, key=lambda term: -term.score) if scored is not None else []
    file_lines = lines_of(text.content)
    parts = [noted(passage, text.path, file_lines) for passage in best[:PARTS]]
    lines = excerpt([(part.lines, part.score) for part in parts])
    return FileNotes(
        evidence=evidence,
        relevance=worth,
        reason=reason,
        tokens=text.tokens,
        excerpt=tuple(lines),
        excerpt_tokens=ports.count_tokens(excerpted(text.path, text.content, lines)),
        words=tuple(term.term for term in held[:SHOWN_WORDS]),
        names=tuple(names[:SHOWN_NAMES]),
        parts=tuple(parts),
        uses=tuple(used_in(text.content, [lines for part in parts[:USING] for lines in part.lines], text.symbols)),
        kind=text.kind,
        cells=tuple(cells_of(text.path, file_lines, lines)),
        grep_tokens=ports.count_tokens(grep),
        weight=None if cosine is None else weight,
    )


def noted(found: ScoredDefinition, path: str, lines: Sequence[str]) -> DefinitionNotes:
    """Note which lines of a definition are shown; those of a notebook with their cell."""
    chosen = shown_lines(found.definition.own, found.matching, lines)
    names = [found.definition.label, cells_label(cells_of(path, lines, chosen))]
    return DefinitionNotes(lines=tuple(chosen), label=", ".join(filter(None, names)), score=round(found.score, 6))


def excerpted(path: str, content: str, excerpt: Sequence[tuple[int, int]]) -> str:
    """Show the excerpt of a file, or its first lines if it has none."""
    return "\n".join(shown(path, (first, last), content) for first, last in excerpt or [(1, 40)])
