"""What the client alone lacks: libraries of extras, each imported where it is first needed."""

from collections.abc import Iterator
from contextlib import contextmanager

from querymill.install_hints import install_hint
from querymill_shared.contracts.errors import QuerymillError


class NotInstalled(QuerymillError):
    """Raised when something needs a library of an extra that is not installed. The message says what to install."""


@contextmanager
def needing(extra: str, *, what: str) -> Iterator[None]:
    """Run a block that imports a module which needs the library of an extra.

    Raises:
        NotInstalled: The library is missing; ``what`` needs it.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.startswith("querymill"):
            raise
        raise NotInstalled(f"{what} needs {error.name}; {install_hint(extra)}") from error
