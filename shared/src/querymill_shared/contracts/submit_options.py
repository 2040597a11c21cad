"""What accompanies a request when it is submitted, and is no part of what is asked.

Two requests are identical, and share their work, whatever accompanies them. Everything here stands in one value, which
goes unchanged from the caller to the board. A new companion of requests joins it here.
"""

from typing import Annotated, Final, Self

from pydantic import Field, PrivateAttr

from querymill_shared.contracts.fields import Contract


class SubmitOptions(Contract):
    """What a caller says of a job beside its request.

    The ``owner`` is the id of the API key that submits it, "" without one. No caller can set it: the gateway does.
    """

    idempotency_key: Annotated[
        str | None,
        Field(min_length=1, max_length=1_000, description="leads to the same job for as long as that is on the board"),
    ] = None

    _owner: str = PrivateAttr(default="")

    @property
    def owner(self) -> str:
        """The id of the API key that submits the job, "" without one."""
        return self._owner

    def owned_by(self, owner: str) -> Self:
        """Return the same options of another owner. Each owner has idempotency keys of its own."""
        owned = self.model_copy()
        owned._owner = owner  # noqa: SLF001  # of this class
        return owned


#: Nothing accompanies a request.
PLAIN: Final = SubmitOptions()
