"""A code base beside what is stored of it: list its files, ask which of them changed, and send those."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from querymill.code_bases.listing import CodeBase, ListedFile, NotedFolder, Skipped
from querymill.ingesting.kinds.files import LINES, lines_of
from querymill.ingesting.outcomes import Ingestion
from querymill.ingesting.path_options import UnreadPath, UnusablePath
from querymill.ingesting.sources.code_bases import code_base_at
from querymill.ingesting.submitting import LoadProgress, Submits, ingest, pack
from querymill_shared.contracts.errors import JobEnded, detail_of
from querymill_shared.contracts.files.ingest import MAX_LISTED, CompareFiles, CompareFilesResult

#: Seconds that comparing may take.
COMPARE_S: Final = 600


@dataclass(frozen=True, slots=True)
class Listing:
    """What a code base holds."""

    listed: Mapping[str, ListedFile]
    skipped: Sequence[Skipped]
    noted: Sequence[NotedFolder] = ()

    @property
    def is_whole(self) -> bool:
        """Whether everything could be read: only then is a missing file known to be deleted."""
        return not any(skipped.failed for skipped in self.skipped)


def find(code_base: CodeBase, path: Path) -> Listing:
    """List a code base.

    Raises:
        UnusablePath: It cannot be read, or holds nothing, or too much.
    """
    listed: dict[str, ListedFile] = {}
    skipped: list[Skipped] = []
    noted: list[NotedFolder] = []
    try:
        for entry in code_base.listed():
            match entry:
                case ListedFile():
                    listed[entry.path] = entry
                case Skipped():
                    skipped.append(entry)
                case NotedFolder():
                    noted.append(entry)
    except OSError as error:
        raise UnusablePath(f"path: {error}") from error
    if not listed:
        reasons = "; ".join(f"{file.path}: {file.reason}" for file in skipped[:3])
        raise UnusablePath(f"path: {path} holds no file that can be loaded" + (f" ({reasons})" if reasons else ""))
    if len(listed) > MAX_LISTED:
        raise UnusablePath(f"path: {path} holds {len(listed)} files, more than {MAX_LISTED}")
    return Listing(listed, skipped, noted)


def compare(
    mill: Submits, found: Listing, collection: str, *, remove: bool, vectors: bool = False
) -> CompareFilesResult:
    """Ask which files changed, and with ``remove`` drop those that are no longer in the code base.

    With ``vectors``, the collection has vectors from now on.

    Raises:
        UnusablePath: The collection's name breaks a rule, or comparing failed.
    """
    hashes = {path: listed.sha256 for path, listed in found.listed.items()}
    try:
        request = CompareFiles(collection=collection, files=hashes, remove=remove, vectors=vectors)
        return mill.submit(request).result(timeout=COMPARE_S)
    except (ValueError, JobEnded) as error:
        raise UnusablePath(f"collection: {error}", detail=f"collection: {detail_of(error)}") from error


def ingest_tree(
    mill: Submits,
    path: Path,
    collection: str,
    tell: Callable[[LoadProgress | UnreadPath], None],
    *,
    include_secrets: bool,
    vectors: bool,
) -> Ingestion:
    """Bring a collection up to date with a directory, or add files from JSON lines; return what became of each file.

    Raises:
        UnusablePath: It cannot be read, or holds nothing, or too much.
    """
    done = Ingestion()
    code_base = code_base_at(path, include_secrets=include_secrets)
    found = find(code_base, path)
    for skipped in found.skipped:
        unread = UnreadPath(skipped.path, skipped.reason, skipped.failed)
        done.add_unread(unread)
        tell(unread)
    compared = compare(mill, found, collection, remove=path.is_dir() and found.is_whole, vectors=vectors)
    done.outcomes["unchanged"] += len(found.listed) - len(compared.changed)
    done.outcomes["dropped"] += len(compared.removed)
    changed = code_base.read(frozenset(compared.changed))
    lines = LINES.asking_for_vectors() if vectors else LINES
    for advance in ingest(mill, pack(lines_of(changed), lines.asking(collection))):
        if advance.document is not None:
            done.add(advance)
        tell(advance)
    done.outcomes = +done.outcomes
    return done
