"""Histories as other tools write them: sessions of coding assistants, exports of chats, mailboxes."""

from querymill_histories.finding import FoundFiles, find, read_sessions
from querymill_histories.rows import rows_of
from querymill_histories.session import Call, ReadOptions, Said, Session, Unread

__all__ = ["Call", "FoundFiles", "ReadOptions", "Said", "Session", "Unread", "find", "read_sessions", "rows_of"]
