"""All requests of `messages` and their results."""

from querymill_shared.contracts.messages.ingest import IngestSession, IngestSessionResult
from querymill_shared.contracts.messages.life import (
    EmbedMessages,
    EmbedMessagesResult,
    ForgetResult,
    ForgetSession,
    ReembedMessages,
    ReembedResult,
)
from querymill_shared.contracts.messages.search import MessageResult, MessageSearch

MessageRequest = MessageSearch | IngestSession | EmbedMessages | ReembedMessages | ForgetSession
MessageJobResult = MessageResult | IngestSessionResult | EmbedMessagesResult | ReembedResult | ForgetResult
