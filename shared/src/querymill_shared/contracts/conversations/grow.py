"""The `grow_conversations` kind: add new messages to many sessions in one job."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from querymill_shared.contracts.conversations.ingest import SessionUpdate
from querymill_shared.contracts.loading import MAX_DOCUMENTS, Load, LoadResult, fit_sessions
from querymill_shared.contracts.results import Asks


class GrowConversations(Load, Asks["GrowConversationsResult"]):
    """Add live messages to sessions, or replace them, each as an `UpdateConversation` does."""

    kind: Literal["grow_conversations"] = "grow_conversations"
    updates: Annotated[
        tuple[SessionUpdate, ...],
        Field(min_length=1, max_length=MAX_DOCUMENTS),
        AfterValidator(fit_sessions("updates")),
    ]


class GrowConversationsResult(LoadResult):
    """The outcome of each session; ``total`` counts its messages."""

    kind: Literal["grow_conversations"] = "grow_conversations"
