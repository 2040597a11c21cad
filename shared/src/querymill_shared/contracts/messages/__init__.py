"""All requests of `messages` and their results."""

from querymill_shared.contracts.messages.grow import GrowSessions, GrowSessionsResult
from querymill_shared.contracts.messages.ingest import IngestSession, IngestSessionResult
from querymill_shared.contracts.messages.life import (
    ForgetResult,
    ForgetSession,
)
from querymill_shared.contracts.messages.load import LoadSessions, LoadSessionsResult
from querymill_shared.contracts.messages.search import MessageResult, MessageSearch

MessageRequest = MessageSearch | IngestSession | LoadSessions | GrowSessions | ForgetSession
MessageJobResult = MessageResult | IngestSessionResult | LoadSessionsResult | GrowSessionsResult | ForgetResult
