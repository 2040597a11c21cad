"""The `grow_conversations` kind: add new messages to many sessions in one job."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from querymill_shared.contracts.conversations.ingest import SessionUpdate
from querymill_shared.contracts.loading import MAX_DOCUMENTS, Load, LoadResult, fit_one_job
from querymill_shared.contracts.results import Asks


def _fit(updates: tuple[SessionUpdate, ...]) -> tuple[SessionUpdate, ...]:
    fit_one_job(
        [update.session_id for update in updates],
        [sum(len(message.text) for message in update.messages) for update in updates],
        name="updates",
    )
    return updates


class GrowConversations(Load, Asks["GrowConversationsResult"]):
    """Add live messages to sessions, or replace them, each as an `UpdateConversation` does."""

    kind: Literal["grow_conversations"] = "grow_conversations"
    updates: Annotated[tuple[SessionUpdate, ...], Field(min_length=1, max_length=MAX_DOCUMENTS), AfterValidator(_fit)]


class GrowConversationsResult(LoadResult):
    """The outcome of each session; ``total`` counts its messages."""

    kind: Literal["grow_conversations"] = "grow_conversations"
