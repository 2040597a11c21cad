"""The `grow_messages` kind: add the new messages of sessions that have grown, without those that are stored."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from querymill_shared.contracts.fields import Contract, Id
from querymill_shared.contracts.loading import MAX_DOCUMENTS, Load, LoadResult, fit_sessions
from querymill_shared.contracts.results import Asks
from querymill_shared.contracts.sessions import MAX_MESSAGES, ChatMessage


class SessionGrowth(Contract):
    """New messages of a session, which come after the ``after`` messages that are stored of it."""

    session_id: Id
    after: Annotated[int, Field(ge=1, le=MAX_MESSAGES)]
    messages: Annotated[tuple[ChatMessage, ...], Field(min_length=1, max_length=MAX_MESSAGES)]


class GrowSessions(Load, Asks["GrowSessionsResult"]):
    """Add new messages to stored sessions. Each session has an outcome of its own.

    A session of which another number of messages is stored is "superseded" and stays as it is: it must be sent whole.
    The same growth again is "unchanged".
    """

    kind: Literal["grow_messages"] = "grow_messages"
    growths: Annotated[
        tuple[SessionGrowth, ...],
        Field(min_length=1, max_length=MAX_DOCUMENTS),
        AfterValidator(fit_sessions("growths")),
    ]


class GrowSessionsResult(LoadResult):
    """The outcome of each session; ``total`` counts its passages."""

    kind: Literal["grow_messages"] = "grow_messages"
