"""Show the context for a sub-agent: what is most relevant in the files returned, as one text."""

from collections.abc import Sequence

from querymill_shared.contracts.files.search import FileSearch
from querymill_workers.retrievers.files.ports import FilePorts
from querymill_workers.retrievers.files.rules.context import Context, joined, signatures_of
from querymill_workers.retrievers.files.rules.kinds import FileKind, share_of
from querymill_workers.retrievers.files.rules.structure import NAMED
from querymill_workers.retrievers.files.rules.worth import ContextPart, share_of_part, with_calls, worth
from querymill_workers.retrievers.files.search.query_analysis import QueryAnalysis
from querymill_workers.retrievers.files.search.rounds import EvaluatedFile


def join_context(
    files: Sequence[EvaluatedFile], query: QueryAnalysis, request: FileSearch, ports: FilePorts
) -> Context:
    """Join the best definitions of the files returned, and a map of the others, into one text for a sub-agent.

    Contents are fetched here because the board holds no code.
    """
    if not files or request.context_budget == 0:
        return Context("", ())
    collection = request.collection
    paths = [file.path for file in files]
    contents = ports.files.contents(collection, paths)
    symbols = ports.files.symbols(collection, paths)
    defined = {
        path: [(symbol.name, symbol.line) for symbol in found if symbol.role == "definition"]
        for path, found in symbols.items()
    }
    parts = [part for file in files for part in parts_of(file, asked=query.kinds, defines=bool(defined.get(file.path)))]
    called = with_calls(parts, contents)
    uses = {path: [symbol.name for symbol in found if symbol.role != "definition"] for path, found in symbols.items()}
    return joined(
        called,
        contents,
        signatures_of(defined, uses),
        budget=request.context_budget,
        count_tokens=ports.count_tokens,
    )


def parts_of(file: EvaluatedFile, *, asked: frozenset[FileKind], defines: bool) -> list[ContextPart]:
    """List what the context may show of a file, with what it is worth."""
    kind_share = 1.0 if file.notes.reason == NAMED else share_of(file.notes.kind, asked=asked)
    return [
        ContextPart(
            file.path,
            part.lines,
            part.label,
            worth(
                part.score,
                relevance=file.relevance,
                share=share_of_part(part.label, kind_share=kind_share, defines=defines, tests_asked="tests" in asked),
            ),
        )
        for part in file.notes.parts
    ]
