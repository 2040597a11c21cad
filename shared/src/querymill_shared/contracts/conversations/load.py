"""The `load_conversations` kind: ingest many chat sessions in one job."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from querymill_shared.contracts.loading import MAX_DOCUMENTS, Load, LoadResult, fit_one_job
from querymill_shared.contracts.results import Asks
from querymill_shared.contracts.sessions import ChatSession


def _fit(sessions: tuple[ChatSession, ...]) -> tuple[ChatSession, ...]:
    fit_one_job(
        [session.session_id for session in sessions],
        [sum(len(message.text) for message in session.messages) for session in sessions],
        name="sessions",
    )
    return sessions


class LoadConversations(Load, Asks["LoadConversationsResult"]):
    """Ingest whole sessions, each as an `IngestConversation` does."""

    kind: Literal["load_conversations"] = "load_conversations"
    sessions: Annotated[tuple[ChatSession, ...], Field(min_length=1, max_length=MAX_DOCUMENTS), AfterValidator(_fit)]


class LoadConversationsResult(LoadResult):
    """The outcome of each document."""

    kind: Literal["load_conversations"] = "load_conversations"
