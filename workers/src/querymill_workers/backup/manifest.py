"""What a backup says of itself: the file `manifest.json`, which is written last."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Final, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError
from pydantic_core import from_json

from querymill_workers.backup.errors import BackupError

#: The form of a backup. A release reads those up to its own.
FORMAT: Final = 1

FileName = Annotated[str, StringConstraints(pattern=r"^[a-z_]+(\.[a-z]+)+$")]
Count = Annotated[int, Field(ge=0)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class StoredFile(_Part):
    """The size of a file in bytes, and its SHA-256 in hex."""

    size: Count
    sha256: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class StoredBoard(_Part):
    """How many jobs of the board are in the backup, and whether the API keys of the gateway are."""

    jobs: Count
    has_api_keys: bool


class Manifest(_Part):
    """What is in a backup.

    ``tables`` has the rows of each table of PostgreSQL, ``code_documents`` the records of each collection of MongoDB,
    or None if PostgreSQL holds the code documents. ``at`` is when the stores were as they are here.
    """

    format: int = FORMAT
    release: str
    at: datetime
    server: int
    migrations: tuple[str, ...]
    tables: Mapping[str, Count]
    code_documents: Mapping[str, Count] | None
    board: StoredBoard
    files: Mapping[FileName, StoredFile]

    @classmethod
    def read(cls, text: str, *, place: str) -> Self:
        """Read a manifest.

        Raises:
            BackupError: It is not one, or a newer release wrote it.
        """
        try:
            written = from_json(text)
            number = written.get("format") if isinstance(written, dict) else None
            if isinstance(number, int) and number > FORMAT:
                raise BackupError(
                    f"{place}: format: {number}, and this release reads up to {FORMAT};"
                    " restore with the release that made it"
                )
            return cls.model_validate(written)
        except (ValueError, ValidationError) as error:
            raise BackupError(
                f"{place}: is not the manifest of a backup ({_first_line(error)}); take another backup"
            ) from error


def _first_line(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors(include_input=False, include_url=False)[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return str(error).partition("\n")[0]
