"""Understand a question: which words of it are searched, and in which rows."""

from querymill_shared.contracts.messages.search import MessageSearch
from querymill_shared.values import value
from querymill_workers.jobs.in_chat import context_of
from querymill_workers.retrievers.messages.rules.question_frames import unframed
from querymill_workers.retrievers.messages.rules.sessions import MessageFilter
from querymill_workers.words.asked import Beside


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

    @property
    def meaning(self) -> str:
        """What is embedded: the question under the turns that it leans on, without their frames."""
        asked = context_of(self.request)
        turns = map(unframed, asked.before) if self.joins_neighbours else asked.before
        return "\n".join([*reversed(list(turns)), asked.question])


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
    is_empty = is_best and not any(character.isalnum() for character in asked.query)
    return MessageQuestion(asked, where, is_empty)


def beside_of(request: MessageSearch) -> Beside:
    """Return what is searched by words beside a question: what the turns before it add, without their frames."""
    beside = context_of(request).beside
    return {unframed(text): weight for text, weight in beside.items()} if request.ranking == "best" else beside
