"""What is known of a session apart from its texts."""

from querymill_shared.contracts.ingest import SessionExtension
from querymill_shared.contracts.sessions import ChatSession
from querymill_workers.documents.ports import Entry


def entry_of(session: ChatSession) -> Entry:
    """Return what lists tell of a session, and what filters see. Its time is when it began."""
    return Entry(
        session.session_id,
        {
            "session_id": session.session_id,
            "user_name": session.user_name,
            "role": [message.role for message in session.messages],
            "time": session.started_at,
        },
        session.model_extra or {},
        title=session.name,
        when=session.started_at,
        size=len(session.messages),
        unit="messages",
    )


def part_of(extension: SessionExtension) -> Entry:
    """Return what filters see of new messages, without the rest of their session."""
    roles = [message.role for message in extension.messages]
    fields = {"session_id": extension.session_id, "user_name": extension.user_name, "role": roles, "time": None}
    return Entry(extension.session_id, fields)
