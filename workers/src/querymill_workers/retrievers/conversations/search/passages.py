"""Find the passage that each hit shows: the best one by words, or the nearest one if words did not find the session."""

from collections.abc import Mapping, Sequence

from querymill_shared.contracts.sessions import place_in_file
from querymill_workers.retrievers.conversations.ports.caches import BestPassage, CachedSearch
from querymill_workers.retrievers.conversations.ports.passages import NearSession
from querymill_workers.retrievers.conversations.ports.sessions import Conversation, Conversations
from querymill_workers.retrievers.conversations.rules.best_passage import Snippet, opening, shown_snippet
from querymill_workers.retrievers.conversations.rules.session_hits import SessionHit
from querymill_workers.retrievers.conversations.rules.times.find import TimeRange
from querymill_workers.retrievers.conversations.search.choose import ChosenSession
from querymill_workers.retrievers.conversations.search.understand import ConversationQuestion


def find_passages(
    question: ConversationQuestion,
    recalled: CachedSearch,
    chosen: Sequence[ChosenSession],
    conversations: Conversations,
) -> Mapping[str, BestPassage]:
    """Return the passages of the chosen sessions, by session. Sessions dropped since have none.

    What words found is cut once, and kept for all who ask the same.
    """
    candidates = [each.candidate for each in chosen]
    near = {each.hit.id: each.near for each in candidates if each.near and not each.has_words}
    # Only what was read from files has lines to jump to.
    from_files = [each.hit.id for each in candidates if each.hit.id in near and "source" in each.session.metadata]
    unread = {each.hit.id: each.hit for each in candidates if each.has_words and each.hit.id not in recalled.passages}
    wanted = [*unread, *from_files]
    read = conversations.sessions(question.request.collection, wanted) if wanted else {}
    for id_ in unread.keys() & read.keys():
        span = None if id_ in (recalled.relaxed or ()) else question.span
        recalled.passages[id_] = cut_passage(unread[id_], read[id_], span)
    return recalled.passages | {id_: nearest_passage(found, read.get(id_)) for id_, found in near.items()}


def cut_passage(hit: SessionHit, session: Conversation, span: TimeRange | None) -> BestPassage:
    """Cut the best passage of a session, or of its messages from a time. If none is to be shown, it is the name."""
    messages = session.messages if span is None else session.within(span.start, span.end)
    snippet = shown_snippet([message.text for message in messages], hit.scored, of=len(session.messages))
    if snippet is None:
        return BestPassage(Snippet(session.name or "", (), 0), None)
    message = messages[snippet.place]
    source, line = place_in_file({**session.metadata, **message.metadata})
    place = session.messages.index(message)
    return BestPassage(snippet, message.message_id, place, message.created_at, source, line)


def nearest_passage(near: NearSession, session: Conversation | None) -> BestPassage:
    """Show the passage of a session that only vectors found. No word of it is marked."""
    passage = near.passage
    messages = () if session is None else session.messages
    message = next((each for each in messages if each.key == passage.message), None)
    source, line = None, None
    if session is not None and message is not None:
        source, line = place_in_file({**session.metadata, **message.metadata})
    message_id = passage.message[1:] if passage.message.startswith("=") else None
    return BestPassage(opening(passage.text), message_id, passage.place, passage.first_at, source, line)
