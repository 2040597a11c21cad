"""The `load_conversations` kind: ingest many chat sessions in one job."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from querymill_shared.contracts.loading import MAX_DOCUMENTS, Load, LoadResult, fit_sessions
from querymill_shared.contracts.results import Asks
from querymill_shared.contracts.sessions import ChatSession


class LoadConversations(Load, Asks["LoadConversationsResult"]):
    """Ingest whole sessions, each as an `IngestConversation` does."""

    kind: Literal["load_conversations"] = "load_conversations"
    sessions: Annotated[
        tuple[ChatSession, ...], Field(min_length=1, max_length=MAX_DOCUMENTS), AfterValidator(fit_sessions("sessions"))
    ]


class LoadConversationsResult(LoadResult):
    """The outcome of each document."""

    kind: Literal["load_conversations"] = "load_conversations"
