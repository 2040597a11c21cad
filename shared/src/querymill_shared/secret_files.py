"""What the caller has set: in the environment, in files that hold secrets, and in ``.env`` in the working folder."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from dotenv import dotenv_values

#: The file of settings in the working folder.
DOT_ENV = ".env"
#: ``NAME_FILE`` names a file with the value of ``NAME``, as containers hand secrets over.
IN_A_FILE = "_FILE"


class UnreadableSetting(ValueError):
    """Raised when a setting is given twice, or its file cannot be read; the message names the setting."""


def set_variables() -> dict[str, str]:
    """Return the variables of the environment, and beside them those of ``.env`` that the environment does not set."""
    return {name: value for name, value in dotenv_values(DOT_ENV).items() if value is not None} | dict(os.environ)


def dotenv_settings() -> dict[str, str]:
    """Return the variables of ``.env`` that the environment does not set, for a process that starts elsewhere."""
    beside = {name: value for name, value in set_variables().items() if name not in os.environ}
    return {name: str(Path(value).resolve()) if name.endswith(IN_A_FILE) else value for name, value in beside.items()}


def instead_of_files(names: Iterable[str]) -> dict[str, str]:
    """Return variables that take back the files of some settings, for a process that is given their values."""
    return {name + IN_A_FILE: "" for name in names}


def names_set(names: Iterable[str]) -> set[str]:
    """Return those of some settings that are given, by themselves or in a file."""
    variables = set_variables()
    return {name for name in names if variables.get(name) or variables.get(name + IN_A_FILE)}


def read_files(names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the settings whose value stands in a file, without white space around it.

    Raises:
        UnreadableSetting: a setting is given by itself too, or its file cannot be read as UTF-8.
    """
    variables = set_variables()
    for name in names:
        path = variables.get(name + IN_A_FILE)
        if not path:
            continue
        if variables.get(name):
            raise UnreadableSetting(f"{name}: give either {name} or {name}{IN_A_FILE}, not both")
        try:
            yield name, Path(path).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise UnreadableSetting(f"{name}{IN_A_FILE}: {_named(path)}cannot be read ({_why(error)})") from error


def _named(path: str) -> str:
    """Return the path of a file and a space. What may be the secret itself, given in place of a file, is not shown."""
    return f"{path} " if Path(path).is_absolute() else ""


def _why(error: OSError | UnicodeDecodeError) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8"
    return "no such file" if isinstance(error, FileNotFoundError) else (error.strerror or str(error)).lower()
