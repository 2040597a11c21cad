"""Symbols by tree-sitter within a time limit; line by line if there is no grammar or the time is up."""

import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final, get_args

from tree_sitter import Node, Parser, Point, QueryCursor, Tree
from typing_extensions import override

from querymill_shared.values import value
from querymill_workers.retrievers.files.parsing.grammars import SOURCES, Grammar, load
from querymill_workers.retrievers.files.parsing.lexical import LexicalParser
from querymill_workers.retrievers.files.parsing.symbols import Gathered
from querymill_workers.retrievers.files.ports import Parsed, SourceParser
from querymill_workers.retrievers.files.rules.code import Symbol, SymbolRole
from querymill_workers.retrievers.files.rules.languages import language_of

#: Time limit for parsing a file, in seconds: nesting of a million levels would take hours.
MAX_PARSE_S: Final = 5.0
#: Bytes that the parser reads at a time; other threads run in between.
PIECE: Final = 16_384
#: Matches that a query may have in progress.
MAX_OPEN_MATCHES: Final = 4_096
#: Files with a longer line, in bytes, are not parsed: grammars take minutes and gigabytes for some, past the limit.
MAX_LINE_BYTES: Final = 4_096
#: Levels of nested brackets and of nodes. A query takes time with the square of the depth of a tree.
MAX_DEPTH: Final = 500
#: Pieces of an error node. A query takes time with their square, too.
MAX_BROKEN: Final = 5_000

_ROLES: Final = frozenset(get_args(SymbolRole))
_BRACKET: Final = re.compile(rb"[()\[\]{}]")
_DOTTED: Final = re.compile(r"[A-Za-z_$.][A-Za-z0-9_$./@-]*")
#: Kinds that enclose no other definition.
_CLOSED: Final = frozenset({"type", "constant", "macro"})
#: Kinds in which a function is a method.
_WITH_METHODS: Final = frozenset({"class", "struct", "interface", "trait", "enum"})


@value
class _Match:
    """A match of a query: its bytes and the symbol it may become. A scope, which has no role, only encloses."""

    begin: int
    end: int
    role: str
    symbol: Symbol


class TreeSitterParser(SourceParser):
    """`SourceParser` by tree-sitter."""

    version = 5

    def __init__(self) -> None:
        self._grammars: dict[str, Grammar] = {}
        self._lexical = LexicalParser()

    @override
    def parse(self, path: str, content: str) -> Parsed:
        language = language_of(path, content)
        source = SOURCES.get(language)
        if source is None:
            return self._lexical.parse(path, content)
        grammar = self._grammars.get(language) or self._grammars.setdefault(language, load(source))
        found = _read(content.encode(errors="replace"), grammar)
        if found is None:
            return self._lexical.parse(path, content)
        gathered = Gathered()
        for symbol in _placed(found):
            gathered.add(symbol)
        return Parsed(gathered.listed(), language, "tree-sitter")


def _read(code: bytes, grammar: Grammar) -> list[_Match] | None:
    """Match the queries; return None if parsing hit the time limit or would."""
    tree = _tree(code, grammar) if _is_written_by_hand(code) else None
    if tree is None or _is_broken(tree.root_node):
        return None
    # The query has no time limit because its progress callback crashes (tree-sitter 0.26); hence the other limits.
    cursor = QueryCursor(grammar.query, match_limit=MAX_OPEN_MATCHES)
    cursor.set_max_start_depth(MAX_DEPTH)
    matches = cursor.matches(tree.root_node)
    return [found for _, captures in matches if (found := _match(captures, code)) is not None]


def _is_written_by_hand(code: bytes) -> bool:
    if max(map(len, code.split(b"\n"))) > MAX_LINE_BYTES:
        return False
    depth = 0
    for bracket in _BRACKET.finditer(code):
        depth = depth + 1 if bracket[0] in b"([{" else max(depth - 1, 0)
        if depth > MAX_DEPTH:
            return False
    return True


def _is_broken(root: Node) -> bool:
    """Return whether an error has too many pieces; visits only nodes with errors."""
    errors = [root] if root.has_error else []
    while errors:
        node = errors.pop()
        if node.is_error and node.child_count > MAX_BROKEN:
            return True
        errors.extend(child for child in node.children if child.has_error)
    return False


def _tree(code: bytes, grammar: Grammar) -> Tree | None:
    until = time.monotonic() + MAX_PARSE_S

    def piece(offset: int, _: Point) -> bytes:
        return code[offset : offset + PIECE]

    try:
        return Parser(grammar.language).parse(piece, progress_callback=lambda *_: time.monotonic() > until)
    except ValueError:  # the progress callback stopped the parser
        return None


def _match(captures: dict[str, list[Node]], code: bytes) -> _Match | None:
    capture = next((name for name in captures if name not in ("name", "qualifier") and name[0] != "_"), None)
    if capture is None or "name" not in captures:
        return None
    whole, name = captures[capture][0], _text(captures["name"], code)
    role, _, kind = capture.partition(".")
    qualifier = _text(captures.get("qualifier", ()), code)
    qualifier = _module(qualifier) if role == "import" else qualifier.replace("::", ".")
    qualifier = qualifier if _DOTTED.fullmatch(qualifier) else ""
    name = _module(name) if role == "import" else name
    # A definition starts at its own first line, a use at the line of its name.
    line = (whole if role == "definition" else captures["name"][0]).start_point[0] + 1
    row, column = whole.end_point
    symbol = Symbol(name, "definition", kind or role, line, max(row + (column > 0), line), qualifier)
    return _Match(whole.start_byte, whole.end_byte, role, symbol)


def _text(nodes: Sequence[Node], code: bytes) -> str:
    return code[nodes[0].start_byte : nodes[0].end_byte].decode(errors="replace") if nodes else ""


def _module(written: str) -> str:
    """Write the name of a module with dots in every language; a path keeps its slashes."""
    return re.sub(r"\s", "", written).strip("<>\"'").replace("::", ".")


def _placed(found: Iterable[_Match]) -> Iterator[Symbol]:
    """Qualify each definition by what encloses it, and drop a type that is the name of a definition on its line."""
    defined: set[tuple[str, int]] = set()
    enclosing: list[_Match] = []
    for match in sorted(found, key=_order):
        while enclosing and enclosing[-1].end <= match.begin:
            enclosing.pop()
        if match.role == "definition":
            if (match.symbol.name, match.symbol.line) in defined:
                continue
            defined.add((match.symbol.name, match.symbol.line))
            yield _within(enclosing[-1] if enclosing else None, match.symbol)
        elif match.role in _ROLES and not (match.role == "type" and (match.symbol.name, match.symbol.line) in defined):
            yield replace(match.symbol, role=_role(match.role), end_line=match.symbol.line)
        if match.role in ("definition", "scope") and match.symbol.kind not in _CLOSED:
            enclosing.append(match)


def _order(match: _Match) -> tuple[object, ...]:
    """Sort what encloses first; of two definitions in one place, a "constant" last."""
    return (match.begin, -match.end, match.role not in ("definition", "scope"), match.symbol.kind == "constant")


def _within(around: _Match | None, symbol: Symbol) -> Symbol:
    if around is None:
        return symbol
    kind = "method" if symbol.kind == "function" and _holds_methods(around) else symbol.kind
    return replace(symbol, kind=kind, qualifier=symbol.qualifier or around.symbol.name)


def _holds_methods(around: _Match) -> bool:
    return around.role == "scope" or around.symbol.kind in _WITH_METHODS


def _role(written: str) -> SymbolRole:
    return next(role for role in get_args(SymbolRole) if role == written)
