"""What is known of a session apart from its texts."""

from querymill_shared.contracts.ingest import SessionExtension
from querymill_shared.contracts.sessions import ChatSession
from querymill_workers.documents.ports import Entry


def entry_of(session: ChatSession) -> Entry:
    """Return what lists tell of a session, and what filters see. It has the times of all its messages."""
    return Entry(
        session.session_id,
        {
            "session_id": session.session_id,
            "user_name": session.user_name,
            "role": [message.role for message in session.messages],
            "time": [message.created_at or session.started_at for message in session.messages],
        },
        session.model_extra or {},
        title=session.name,
        when=session.started_at,
        size=len(session.messages),
        unit="messages",
    )


def part_of(update: SessionExtension) -> Entry:
    """Return what filters see of an update, without the rest of its session."""
    return Entry(
        update.session_id,
        {
            "session_id": update.session_id,
            "user_name": update.user_name,
            "role": [message.role for message in update.messages],
            "time": [message.created_at or update.started_at for message in update.messages],
        },
    )
