"""Querymill's client: submit a question, carry on, and read the result when it is there.

>>> from querymill import Querymill, ReportSearch
>>> mill = Querymill()
>>> job = mill.submit(ReportSearch(query="How did margins develop?", collection="filings", hyde=True))
>>> result = job.result(timeout=10)
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from querymill.public import *  # noqa: F403


def __getattr__(name: str) -> Any:
    """Import the public names when the first of them is used: help and the version need none of the contracts."""
    if name.startswith("__") and name != "__all__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import querymill.public as public  # `from querymill` would ask this function

    if name != "__all__" and name not in public.__all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(public, name)


def __dir__() -> list[str]:
    """List the public names, which a shell completes."""
    return sorted({*globals(), *__getattr__("__all__")})
