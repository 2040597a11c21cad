"""All requests of `messages` and their results."""

from querymill_shared.contracts.ingest import Extend
from querymill_shared.contracts.messages.ingest import IngestMessages, IngestMessagesResult
from querymill_shared.contracts.messages.search import MessageResult, MessageSearch

MessageRequest = MessageSearch | IngestMessages | Extend
MessageJobResult = MessageResult | IngestMessagesResult
