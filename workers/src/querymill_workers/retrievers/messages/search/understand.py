"""Understand a question: which words of it are searched, and in which rows."""

from querymill_shared.contracts.messages.search import MessageSearch
from querymill_shared.values import value
from querymill_workers.retrievers.messages.rules.question_frames import unframed
from querymill_workers.retrievers.messages.rules.sessions import MessageFilter


@value
class MessageQuestion:
    """A question as it is searched: its request, and the rows that may be found.

    With ranking "best", the words that only ask for messages are left out, and a question without a letter or digit of
    any script ``is_empty``.
    """

    request: MessageSearch
    where: MessageFilter
    is_empty: bool

    @property
    def joins_neighbours(self) -> bool:
        """Whether the words of neighbours count, and vectors are joined with them."""
        return self.request.ranking == "best"


def understand_question(request: MessageSearch) -> MessageQuestion:
    """Return what is searched for a request."""
    is_best = request.ranking == "best"
    asked = request.model_copy(update={"query": unframed(request.query)}) if is_best else request
    where = MessageFilter(
        request.collection,
        request.vector_types,
        session_id=request.session_id,
        exclude_message_id=request.exclude_message_id,
        exclude_session_id=request.exclude_session_id,
        conditions=request.filter,
    )
    return MessageQuestion(asked, where, is_best and not any(character.isalnum() for character in asked.query))
