"""The files of a code base: a directory, or JSON lines. Files that are skipped are listed with the reason."""

import json
from collections.abc import Collection, Iterator
from pathlib import Path

from typing_extensions import override

from querymill.broken_rules import rule_broken
from querymill.code_bases.directory import Directory
from querymill.code_bases.listing import CodeBase, Entry, ListedFile, Skipped
from querymill.code_bases.notebooks import by_cells
from querymill.code_bases.reading import TOO_LARGE, secret_reason
from querymill.ingesting.jsonl import numbered_lines
from querymill_shared.contracts.files.ingest import SourceFile


class JsonLines(CodeBase):
    """Files as JSON lines: ``{"path": …, "content": …}``. Of two lines with the same path, the later counts."""

    def __init__(self, path: Path, *, include_secrets: bool = False) -> None:
        self._path = path
        self._include_secrets = include_secrets

    def listed(self) -> Iterator[Entry]:
        """List what the lines hold."""
        for number, file in self._lines():
            if isinstance(file, str):
                yield Skipped(f"line {number}", file, failed=True)
            elif not self._include_secrets and (reason := secret_reason(file.path, file.content)):
                yield Skipped(file.path, reason)
            else:
                yield ListedFile(file.path, file.sha256, len(file.content.encode()))

    @override
    def read(self, paths: Collection[str]) -> Iterator[SourceFile]:
        last = {file.path: number for number, file in self._lines() if isinstance(file, SourceFile)}
        for number, file in self._lines():
            if isinstance(file, SourceFile) and file.path in paths and last[file.path] == number:
                yield file

    def _lines(self) -> Iterator[tuple[int, SourceFile | str]]:
        with self._path.open("rb") as stream:
            for number, line in numbered_lines(stream):
                if line is None:
                    yield number, TOO_LARGE
                elif line.strip():
                    yield number, _parsed(line)


def code_base_at(path: Path, *, include_secrets: bool = False) -> CodeBase:
    """Open a directory, or a file of JSON lines."""
    of = Directory if path.is_dir() else JsonLines
    return of(path, include_secrets=include_secrets)


def _parsed(line: bytes) -> SourceFile | str:
    try:
        return SourceFile.model_validate(by_cells(json.loads(line)))
    except (ValueError, RecursionError) as error:
        return rule_broken(error)
