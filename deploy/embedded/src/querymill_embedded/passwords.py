"""The passwords of a data folder: one for each server, random, in files that only their owner can read.

`passwords/<part>` holds a password that the server knows. `passwords/<part>.new` holds one that is still to be set, so
that a start that was interrupted is repeated: see `Password.is_set`.
"""

import secrets
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from querymill_embedded.parts import StackPart
from querymill_embedded.state import write_private

FOLDER: Final = "passwords"
#: The servers that hold data. The model servers hold none.
PROTECTED: Final = frozenset({StackPart.VALKEY, StackPart.POSTGRES})
_BYTES = 16


@dataclass(frozen=True, slots=True)
class Password:
    """The password of one server. ``is_set`` is false until `keep` was called: the server may not know it yet."""

    value: str
    is_set: bool
    _kept: Path
    _new: Path

    @classmethod
    def of(cls, part: StackPart, data: Path) -> "Password | None":
        """Return the password that a data folder has for a part, or None if it has none."""
        kept, new = data / FOLDER / part, data / FOLDER / f"{part}.new"
        for path in (kept, new):
            try:
                return cls(path.read_text(encoding="ascii"), path == kept, kept, new)
            except FileNotFoundError:
                continue
        return None

    def keep(self) -> None:
        """Note that the server knows the password."""
        if not self.is_set:
            self._new.replace(self._kept)


def choose_passwords(parts: Collection[StackPart], data: Path) -> dict[StackPart, str]:
    """Return the passwords of the parts that have one. A part without one gets a random one, still to be set."""
    (data / FOLDER).mkdir(mode=0o700, exist_ok=True)
    for part in PROTECTED & set(parts):
        if Password.of(part, data) is None:
            write_private(data / FOLDER / f"{part}.new", secrets.token_hex(_BYTES))
    return passwords_of(parts, data)


def passwords_of(parts: Collection[StackPart], data: Path) -> dict[StackPart, str]:
    """Return the passwords that a data folder has."""
    found: Mapping[StackPart, Password | None] = {part: Password.of(part, data) for part in parts if part in PROTECTED}
    return {part: password.value for part, password in found.items() if password is not None}
