"""The `ingest_messages` kind: ingest chat sessions, so that their messages can be searched."""

from typing import Literal

from querymill_shared.contracts.ingest import Documents, Ingest, IngestResult
from querymill_shared.contracts.results import Asks
from querymill_shared.contracts.sessions import ChatSession


class IngestMessages(Ingest, Asks["IngestMessagesResult"]):
    """Ingest whole sessions. Stored messages that a session no longer has are dropped.

    An unchanged message is not embedded again.
    """

    kind: Literal["ingest_messages"] = "ingest_messages"
    documents: Documents[ChatSession]


class IngestMessagesResult(IngestResult):
    """The outcome of each session. Its ``total`` counts its passages: each message alone, and with its neighbours."""

    kind: Literal["ingest_messages"] = "ingest_messages"
