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
    "shell": "sh bash zsh ksh bats",
    "r": "r",
    "julia": "jl",
    "dart": "dart",
    "elixir": "ex exs",
    "haskell": "hs",
    "sql": "sql ddl pgsql",
    "protobuf": "proto",
    "groovy": "groovy gradle",
    "powershell": "ps1 psm1",
    "objectivec": "m mm",
    "zig": "zig",
    "erlang": "erl hrl",
    "clojure": "clj cljs cljc",
    "fsharp": "fs fsi fsx",
    "solidity": "sol",
    "terraform": "tf hcl",
    "make": "mk",
    "vue": "vue",
    "svelte": "svelte",
}
_BY_EXTENSION: Final = {
    extension: language for language, written in _EXTENSIONS.items() for extension in written.split()
}
_BY_NAME: Final = {
    "makefile": "make", "gnumakefile": "make", "rakefile": "ruby", "gemfile": "ruby", "jenkinsfile": "groovy",
}  # fmt: skip
#: The first line of a notebook as it is ingested, and the notebook's language.
_NOTEBOOK: Final = re.compile("(?:#|//|--) notebook: ([a-z+#0-9]+)\n")
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
    its first line of code shows: Python, JavaScript or shell. A notebook has that of its cells.
    """
    place = PurePosixPath(path)
    suffix = place.suffix.lower().removeprefix(".")
    if suffix == "ipynb":
        found = _NOTEBOOK.match(content)
        return found[1] if found else ""
    if place.name.lower() in _BY_NAME:
        return _BY_NAME[place.name.lower()]
    if suffix:
        return _BY_EXTENSION.get(suffix, "")
    lines = content[:_LOOKED_AT].lstrip("\ufeff").split("\n")
    first = next((line for line in lines if line.strip() and not _is_remark(line)), "")
    return next((name for name, shown in _FIRST_LINES.items() if shown.match(first)), "")


def _is_remark(line: str) -> bool:
    return line.startswith(("#", "//", "@")) and not line.startswith("#!")
