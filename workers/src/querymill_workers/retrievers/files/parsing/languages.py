"""The language of a file, recognised by its name."""

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


def language_of(path: str) -> str:
    """Return the language of a file by its extension, or "" if the extension is not known.

    Headers (``.h``) count as C++, because nearly all C is valid C++.
    """
    return _BY_EXTENSION.get(PurePosixPath(path).suffix.lower().removeprefix("."), "")
