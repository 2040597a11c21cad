"""The `ingest_conversations` kind: ingest chat sessions, which are searched as wholes."""

from typing import Literal

from querymill_shared.contracts.ingest import Documents, Ingest, IngestResult
from querymill_shared.contracts.results import Asks
from querymill_shared.contracts.sessions import ChatSession


class IngestConversations(Ingest, Asks["IngestConversationsResult"]):
    """Ingest whole sessions, each in place of its stored version. What was added to it since is kept."""

    kind: Literal["ingest_conversations"] = "ingest_conversations"
    documents: Documents[ChatSession]


class IngestConversationsResult(IngestResult):
    """The outcome of each session. Its ``total`` counts its messages."""

    kind: Literal["ingest_conversations"] = "ingest_conversations"
