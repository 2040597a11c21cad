"""One file of a code base, from bytes to what is ingested, or the reason why it is not."""

import os
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pydantic

from querymill.broken_rules import rule_broken
from querymill.code_bases.attributes import StatedKind
from querymill.code_bases.decoding import NOT_READ, Decoded, Evidence, is_unicode, printable, text_of
from querymill.code_bases.editors import charset_of
from querymill.code_bases.listing import Skipped
from querymill.code_bases.minified import is_minified
from querymill.code_bases.notebooks import MAX_NOTEBOOK_BYTES, SUFFIX, NotANotebook, source_of
from querymill.code_bases.secrets import secret_by_name, secret_in
from querymill_shared.contracts.files.ingest import MAX_FILE_BYTES, SourceFile

TOO_LARGE: Final = f"larger than {MAX_FILE_BYTES} bytes"
MINIFIED: Final = "minified"
#: What the reason of a secret begins with.
SECRET: Final = "a secret, "  # noqa: S105  # the beginning of a sentence
LFS: Final = "kept in Git LFS, not fetched"
REPLACED: Final = "a symbolic link that has replaced it, not followed"
NOTEBOOK: Final = "a notebook, read by cells without outputs"
_LFS_HEAD: Final = "version https://git-lfs.github.com/spec/"


@dataclass(frozen=True, slots=True)
class Stated:
    """What holds for a file by what is around it: the kind and encodings of attributes, and its neighbours' encodings.

    ``around`` is as for `Evidence`.
    """

    kind: StatedKind | None = None
    encodings: Sequence[str] = ()
    around: Sequence[Iterable[str]] = ()


@dataclass(frozen=True, slots=True)
class Read:
    """A file, what was changed in it, and its legacy encoding; ``undecided`` if its neighbours may say it."""

    file: SourceFile
    remark: str = ""
    encoding: str | None = None
    undecided: bool = False


def read_file(path: str, real: Path, stated: Stated, *, include_secrets: bool) -> Read | Skipped:
    """Read a file.

    Args:
        path: Its path in the code base.
        real: Where it is; if a link has taken this place, it is not followed.
        stated: What is stated for it.
        include_secrets: Whether known secrets are read like other files.
    """
    shown = printable(path)
    if not include_secrets and (secret_by_name(path) or secret_by_name(str(real))):
        return Skipped(shown, secret_reason(shown, ""))
    is_notebook = path.endswith(SUFFIX)
    try:
        raw = _bytes(real, MAX_NOTEBOOK_BYTES if is_notebook else MAX_FILE_BYTES)
    except OSError as error:
        return Skipped(shown, f"cannot be read: {error.strerror}", failed=True)
    decoded = raw if isinstance(raw, str) else text_of(raw, _evidence(raw, real, stated))
    if isinstance(decoded, str):
        return Skipped(shown, decoded)
    if is_notebook:
        try:
            decoded = Decoded(source_of(decoded.text), NOTEBOOK)
        except NotANotebook as error:
            return Skipped(shown, str(error))
    return _accepted(shown, path, decoded, stated.kind, include_secrets=include_secrets)


def is_undecided(found: Read | Skipped) -> bool:
    """Return whether it is open in which encoding a file is, so that its neighbours may say."""
    return found.undecided if isinstance(found, Read) else found.reason == NOT_READ


def _evidence(raw: bytes, real: Path, stated: Stated) -> Evidence:
    if is_unicode(raw):
        return Evidence()
    by_editor = charset_of(real)
    return Evidence((*stated.encodings, *([by_editor] if by_editor else [])), stated.around)


def secret_reason(path: str, text: str) -> str:
    """Say why a file counts as a secret; "" if it does not."""
    found = secret_by_name(path) or (f"holds {held}" if (held := secret_in(text)) else "")
    return f"{SECRET}{found}" if found else ""


def _accepted(
    shown: str, path: str, decoded: Decoded, kind: StatedKind | None, *, include_secrets: bool
) -> Read | Skipped:
    text = decoded.text
    if is_minified(path, text):
        return Skipped(shown, MINIFIED)
    if text.startswith(_LFS_HEAD):
        return Skipped(shown, LFS)
    if not include_secrets and (reason := secret_reason(path, text)):
        return Skipped(shown, reason)
    named: dict[str, Any] = {} if kind is None else {"kind": kind}
    try:
        file = SourceFile(path=path, content=text, **named)
    except pydantic.ValidationError as error:
        return Skipped(shown, rule_broken(error))
    return Read(file, decoded.remark, decoded.encoding, decoded.undecided)


def _bytes(real: Path, limit: int) -> bytes | str:
    """Read a regular file, or say why not."""
    if os.path.realpath(real) != str(real):
        return REPLACED
    descriptor = os.open(real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return "not a regular file"
        raw = file.read(limit + 1) if status.st_size <= limit else None
    return f"larger than {limit} bytes" if raw is None or len(raw) > limit else raw
