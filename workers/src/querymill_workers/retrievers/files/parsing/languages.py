"""The language of a file, recognised by its name, or without an extension by its first lines."""

import re
from pathlib import PurePosixPath
from typing import Final

_EXTENSIONS: Final = {
    "python": "py pyi pyx",
    "javascript": "js jsx mjs cjs",
    "typescript": "ts mts cts",
    "tsx": "tsx",
    "go": "go",
    "java": "java",
    "rust": "rs",
    "c": "c",
    "cpp": "cc cpp cxx h hh hpp hxx inl ipp cu",
    "csharp": "cs",
    "kotlin": "kt kts",
    "scala": "scala sc",
    "swift": "swift",
    "ruby": "rb rake",
    "php": "php",
    "perl": "pl pm",
    "lua": "lua",
    "shell": "sh bash zsh",
    "r": "r",
    "julia": "jl",
    "dart": "dart",
    "elixir": "ex exs",
    "haskell": "hs",
    "sql": "sql",
    "protobuf": "proto",
}
_BY_EXTENSION: Final = {
    extension: language for language, written in _EXTENSIONS.items() for extension in written.split()
}
#: Characters of a file without an extension that its language is guessed from.
_LOOKED_AT: Final = 2_000
_FIRST_LINES: Final = {
    "python": re.compile(
        r"#!.*python|(?:from [A-Za-z_.]+ )?import [A-Za-z_]|(?:async )?def [A-Za-z_][A-Za-z0-9_]*\("
        r"|class [A-Za-z_].*:\s*$"
    ),
    "javascript": re.compile(
        r"#!.*node|['\"]use strict['\"]|(?:async )?function\*? ?[A-Za-z_$]*\(|(?:const|let|var) [A-Za-z_${]"
    ),
    "shell": re.compile(r"#!.*sh(?![a-z])"),
}


def language_of(path: str, content: str = "") -> str:
    """Return the language of a file by its extension, or "" if it is not known.

    Headers (``.h``) count as C++, because nearly all C is valid C++. A file without an extension has the language that
    its first line of code shows: Python, JavaScript or shell.
    """
    suffix = PurePosixPath(path).suffix.lower().removeprefix(".")
    if suffix:
        return _BY_EXTENSION.get(suffix, "")
    lines = content[:_LOOKED_AT].lstrip("\ufeff").split("\n")
    first = next((line for line in lines if line.strip() and not _is_remark(line)), "")
    return next((name for name, shown in _FIRST_LINES.items() if shown.match(first)), "")


def _is_remark(line: str) -> bool:
    return line.startswith(("#", "//", "@")) and not line.startswith("#!")
