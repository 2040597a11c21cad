"""The tree-sitter grammars: a wheel per language, with queries in ``queries/``; loaded when a file needs them."""

from importlib import import_module, resources
from typing import Final

from tree_sitter import Language, Query

from querymill_shared.values import value


@value
class GrammarSource:
    """Where a grammar comes from: the module of a wheel, its function, and the files of its queries."""

    module: str
    queries: tuple[str, ...]
    function: str = "language"


@value
class Grammar:
    """A language's parser tables, and the query that finds symbols in its trees."""

    language: Language
    query: Query


SOURCES: Final = {
    "python": GrammarSource("tree_sitter_python", ("python",)),
    "javascript": GrammarSource("tree_sitter_javascript", ("ecma", "javascript", "jsx")),
    "typescript": GrammarSource("tree_sitter_typescript", ("ecma", "typescript"), "language_typescript"),
    "tsx": GrammarSource("tree_sitter_typescript", ("ecma", "typescript", "jsx"), "language_tsx"),
    "go": GrammarSource("tree_sitter_go", ("go",)),
    "java": GrammarSource("tree_sitter_java", ("java",)),
    "rust": GrammarSource("tree_sitter_rust", ("rust",)),
    "c": GrammarSource("tree_sitter_c", ("c",)),
    "cpp": GrammarSource("tree_sitter_cpp", ("c", "cpp")),
}


def load(source: GrammarSource) -> Grammar:
    """Load a grammar and read its queries."""
    language = Language(getattr(import_module(source.module), source.function)())
    folder = resources.files("querymill_workers.retrievers.files.parsing") / "queries"
    written = "\n".join((folder / f"{name}.scm").read_text(encoding="utf-8") for name in source.queries)
    return Grammar(language, Query(language, written))
