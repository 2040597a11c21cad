"""Histories as other tools write them: sessions of coding assistants, exports of chats, mailboxes."""

from querymill_histories.finding import FoundFiles, find, read_sessions
from querymill_histories.rows import rows_of
from querymill_histories.session import HistoryMessage, ReadOptions, Session, ToolCall, UnreadPlace

__all__ = [
    "FoundFiles",
    "HistoryMessage",
    "ReadOptions",
    "Session",
    "ToolCall",
    "UnreadPlace",
    "find",
    "read_sessions",
    "rows_of",
]
