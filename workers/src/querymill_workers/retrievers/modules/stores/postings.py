"""The documents of modules, by the names of these, reversed: a suffix of a name is a prefix of its reversal."""

from collections.abc import Iterable
from typing import Final

from querymill_shared.contracts.modules.ingest import ModuleDocument
from querymill_workers.retrievers.modules.rules.documents import DocumentId
from querymill_workers.retrievers.modules.rules.names import PREFIX, Match, last_segment, reversal
from querymill_workers.retrievers.modules.rules.scores import ModuleRecall

#: Greater than every character of a name.
_END: Final = "\uffff"

#: A reversed name with some of its documents.
Posting = tuple[str, Iterable[DocumentId]]


def reversals(document: ModuleDocument) -> dict[str, str]:
    """Return a document's module names by their reversals. Names with the same reversal are the same module."""
    return {reversal(name): last_segment(name) for name in document.meta_info.vtkjs_modules}


def exact_reversals(key: str) -> tuple[str, str]:
    """Return the reversals of the module's two exact names, with and without ``vtk``."""
    return reversal(key), reversal(PREFIX + key)


def suffix_range(key: str) -> tuple[str, str]:
    """Return between which texts the reversals lie of all names that end with a module: from the first on."""
    return reversal(key), reversal(key) + _END


def recall_of(key: str, postings: Iterable[Posting], *, match: Match) -> ModuleRecall:
    """Collect the documents of one module from postings, which may include those of other modules."""
    exactly: set[DocumentId] = set()
    by_suffix: set[DocumentId] = set()
    for reverse, documents in postings:
        if reverse in exact_reversals(key):
            exactly.update(documents)
        elif match == "suffix" and reverse.startswith(reversal(key)):
            by_suffix.update(documents)
    return ModuleRecall(exactly=exactly, all=exactly | by_suffix)
