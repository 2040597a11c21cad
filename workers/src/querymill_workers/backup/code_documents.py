"""The code documents of a MongoDB: a file of BSON, compressed, for each of its collections."""

import gzip
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final, cast

import pymongo
from bson import decode_file_iter
from bson.codec_options import CodecOptions
from bson.errors import BSONError
from bson.raw_bson import RawBSONDocument
from pymongo.database import Database
from pymongo.errors import ConnectionFailure, PyMongoError

from querymill_workers.backup.errors import BackupError
from querymill_workers.retrievers.modules.stores.mongo import DEFAULT_DATABASE, SERVER_COLLECTIONS

_RAW: Final = CodecOptions(document_class=RawBSONDocument)
_AT_ONCE: Final = 200
#: A server that does not respond for this long is away, in ms. Writers of code documents are blocked until then.
SILENCE_MS: Final = 20_000
#: How often the states and the lexicons that they name are read until they agree: a lexicon may be replaced in between.
_READS: Final = 20
_STATES, _LEXICONS = "module_states", "module_lexicons"
Rows = Database[RawBSONDocument]


def copy(uri: str, folder: Path) -> Mapping[str, int]:
    """Write each collection into a file. Return how many records they have.

    The caller blocks writers of code documents: nothing else changes what counts.

    Raises:
        BackupError: The server does not respond, or its lexicons change all the time.
    """
    with _database(uri) as database:
        copied = {
            name: _copy(database, name, folder) for name in SERVER_COLLECTIONS if name not in (_STATES, _LEXICONS)
        }
        for _ in range(_READS):
            copied |= {name: _copy(database, name, folder) for name in (_STATES, _LEXICONS)}
            named = {row["lexicon"] for row in _rows(folder, _STATES) if row.get("lexicon")}
            if named <= {row["_id"] for row in _rows(folder, _LEXICONS)}:
                return copied
    raise BackupError("MONGODB_URI: lexicons of `modules` are replaced all the time; back up again in a minute")


def holds_documents(uri: str) -> bool:
    """Whether the server holds code documents of Querymill."""
    with _database(uri) as database:
        return any(database[name].find_one({}, {"_id": 1}) is not None for name in SERVER_COLLECTIONS)


def fill(uri: str, folder: Path, expected: Mapping[str, int]) -> None:
    """Replace the stored records by those of a backup.

    Raises:
        BackupError: The server does not respond, or does not hold all of them afterwards.
    """
    with _database(uri) as database:
        for name in expected:
            database.drop_collection(name)
            for some in batched_rows(folder, name):
                database[name].insert_many(some)
            found = database[name].count_documents({})
            if found != expected[name]:
                raise BackupError(
                    f"MONGODB_URI: {name} has {found} records instead of {expected[name]};"
                    " stop what else writes, and restore again with --replace"
                )


def batched_rows(folder: Path, name: str) -> Iterator[list[Any]]:
    """Yield the records of a collection, some at a time."""
    some: list[Any] = []
    for row in _rows(folder, name):
        some.append(row)
        if len(some) == _AT_ONCE:
            yield some
            some = []
    if some:
        yield some


def _copy(database: Rows, name: str, folder: Path) -> int:
    copied = 0
    with gzip.open(_file(folder, name), "wb", compresslevel=1) as file:
        for row in database[name].find({}, batch_size=_AT_ONCE):
            file.write(row.raw)
            copied += 1
    return copied


def _rows(folder: Path, name: str) -> Iterator[Any]:
    with gzip.open(_file(folder, name), "rb") as file:
        yield from decode_file_iter(cast("IO[bytes]", file), codec_options=_RAW)


def _file(folder: Path, name: str) -> Path:
    return folder / f"{name}.bson.gz"


@contextmanager
def _database(uri: str) -> Iterator[Rows]:
    client: pymongo.MongoClient[RawBSONDocument] = pymongo.MongoClient(
        uri,
        document_class=RawBSONDocument,
        serverSelectionTimeoutMS=5_000,
        connectTimeoutMS=5_000,
        socketTimeoutMS=SILENCE_MS,
    )
    try:
        with client:
            yield client.get_default_database(DEFAULT_DATABASE)
    except ConnectionFailure:
        raise
    except (PyMongoError, BSONError) as error:
        raise BackupError(f"MONGODB_URI: the server refused: {error}") from error
