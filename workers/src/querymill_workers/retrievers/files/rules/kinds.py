"""Kinds of files: code, tests, documentation, generated. The path tells; a generated file may say so in its head.

A file that is stored with a kind among its metadata is of that kind, as one that `.gitattributes` call vendored.
"""

import re
from collections.abc import Collection, Mapping
from pathlib import PurePosixPath
from typing import Any, Final, Literal, get_args

FileKind = Literal["code", "tests", "documentation", "generated"]

FILE_KINDS: Final[tuple[FileKind, ...]] = get_args(FileKind)
#: What the relevance of a file of another kind is multiplied by, where the request does not ask for the kind.
OTHER_KINDS: Final = 0.6
#: Characters of a file that may say that it is generated.
HEAD: Final = 1_000

_TEST_FOLDER: Final = re.compile(r"(?:.*[._-])?(?:tests?|spec|e2e|fixtures|benchmarks?)|__tests__|testdata|benches")
_TEST_NAME: Final = re.compile(
    r"(?:test_.*|.*_tests?|conftest)\.py|.*[._-](?:test|spec|tst)(?:-d)?\.[a-z]+|.*_test\.go|.*Tests?\.java"
)
_DOC_FOLDERS: Final = frozenset({"doc", "docs", "documentation", "examples", "example"})
_DOC_SUFFIXES: Final = frozenset({".md", ".mdx", ".rst", ".txt", ".adoc"})
_GENERATED_FOLDERS: Final = frozenset({"dist", "generated", "vendor", "node_modules", "third_party"})
_GENERATED_NAME: Final = re.compile(
    r".*(?:_pb2(?:_grpc)?\.pyi?|\.pb\.go|\.min\.(?:js|css)|\.g\.dart|\.map)|package-lock\.json|.*\.lock|pnpm-lock\.yaml|go\.sum"
)
_SAYS_GENERATED: Final = re.compile(
    r"@generated|code generated .{0,80}do not edit|auto-?generated|this file (?:is|was) (?:automatically )?generated",
    re.I,
)
_ASKS: Final[tuple[tuple[FileKind, re.Pattern[str]], ...]] = (
    ("tests", re.compile(r"(?<![a-z])(?:tests?|tested|testing|fixtures?|specs?|benchmarks?)(?![a-z])|测试", re.I)),
    (
        "documentation",
        re.compile(
            r"(?<![a-z])(?:docs?|documentation|documented|readme|changelog|guide|tutorial|examples?)(?![a-z])|文档|示例",
            re.I,
        ),
    ),
    ("generated", re.compile(r"(?<![a-z])(?:generated|vendored)(?![a-z])|生成的", re.I)),
)


def kind_of(path: str, head: str = "", *, stated: FileKind | None = None) -> FileKind:
    """Return the kind that is stated for a file, or else that of its folders, its name and its first characters.

    ``tests/unit/a.py``, ``runtime-tests/a.ts``, ``benches/a.rs`` and ``a.test.js`` are tests, ``docs/a.py`` and
    ``README.md`` documentation, ``a_pb2.py`` and files that say so in their first 1,000 characters generated.
    """
    if stated is not None:
        return stated
    place = PurePosixPath(path)
    folders = {folder.lower() for folder in place.parent.parts}
    if folders & _GENERATED_FOLDERS or _GENERATED_NAME.fullmatch(place.name):
        return "generated"
    if any(map(_TEST_FOLDER.fullmatch, folders)) or _TEST_NAME.fullmatch(place.name):
        return "tests"
    if folders & _DOC_FOLDERS or place.suffix.lower() in _DOC_SUFFIXES:
        return "documentation"
    return "generated" if _SAYS_GENERATED.search(head[:HEAD]) else "code"


def stated_kind(metadata: Mapping[str, Any]) -> FileKind | None:
    """Return the kind that the metadata of a file state; None if they state none that is known."""
    return next((kind for kind in FILE_KINDS if metadata.get("kind") == kind), None)


def kinds_asked(query: str) -> frozenset[FileKind]:
    """Return the kinds that a request speaks of, beside code: "which test covers retries" asks for tests."""
    return frozenset({"code", *(kind for kind, spoken in _ASKS if spoken.search(query))})


def share_of(kind: FileKind, *, asked: Collection[FileKind]) -> float:
    """Return what a file's relevance is multiplied by: 1 for a kind that is asked for, 0.6 for another.

    A test of relevance 0.9 counts 0.54: it is medium, and stands below the code that it tests.
    """
    return 1.0 if kind in asked else OTHER_KINDS
