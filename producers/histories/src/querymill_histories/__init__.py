"""Histories as other tools write them: sessions of coding assistants, exports of chats, mailboxes."""

from querymill_histories.finding import Found, find, read_sessions
from querymill_histories.rows import rows_of
from querymill_histories.session import Call, ReadOptions, Said, Session, Unread

__all__ = ["Call", "Found", "ReadOptions", "Said", "Session", "Unread", "find", "read_sessions", "rows_of"]
