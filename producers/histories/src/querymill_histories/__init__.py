"""Histories as other tools write them: sessions of coding assistants, exports of chats, mailboxes."""

from querymill_histories.finding import FoundFiles, find, read_sessions
from querymill_histories.rows import rows_of
from querymill_histories.session import ReadOptions, ToolCall, HistoryMessage, Session, UnreadPlace

__all__ = ["ReadOptions", "ToolCall", "FoundFiles", "HistoryMessage", "Session", "UnreadPlace", "find", "read_sessions", "rows_of"]
