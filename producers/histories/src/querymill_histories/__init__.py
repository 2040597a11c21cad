"""Histories as other tools write them: sessions of coding assistants, exports of chats, mailboxes."""

from querymill_histories.finding import Found, find, read_sessions
from querymill_histories.rows import rows_of
from querymill_histories.session import Asked, Call, Said, Session, Unread

__all__ = ["Asked", "Call", "Found", "Said", "Session", "Unread", "find", "read_sessions", "rows_of"]
