"""What to run in a checkout to install what is missing. No package index has Querymill."""

from typing import Final

#: The folders of the distributions that the client is made of.
_CLIENT: Final = ("./shared", "./producers/histories", "./producers/reading")
#: Those that an extra is made of beside them.
_FOLDERS: Final = {"eval": ("./producers/evaluation",)}
#: Extras that need distributions which only `make wheels` can build.
_FROM_WHEELS: Final = ("embedded", "all")
#: Stands for an extra: the workers are a distribution of their own.
WORKERS: Final = "workers"


def install_hint(extra: str) -> str:
    """Return the command that installs an extra, or the workers, and where to run it."""
    return f"in a checkout of Querymill, run {install_command(extra)}"


def install_command(extra: str) -> str:
    """Return the command that installs an extra, or the workers, in the folder of a checkout."""
    if extra == WORKERS:
        return "pip install ./shared ./workers"
    if extra in _FROM_WHEELS:
        return f"make wheels && pip install --find-links dist './producers[{extra}]'"
    return f"pip install {' '.join((*_CLIENT, *_FOLDERS.get(extra, ())))} './producers[{extra}]'"
