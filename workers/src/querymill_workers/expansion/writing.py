"""Have a chat model write what is searched beside a question."""

from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from querymill_shared.board import Claim
from querymill_shared.branches import HYDE, STANDALONE
from querymill_shared.contracts.expansion import EXPAND_WITHIN_S
from querymill_shared.contracts.kinds import KindSearch
from querymill_workers.expansion.rules.replies import is_about, texts_in
from querymill_workers.inference.answer_ports import Answers
from querymill_workers.inference.ports import Rewriter
from querymill_workers.inference.rewriter import usable
from querymill_workers.jobs.deadline import caller_of, naming_lateness
from querymill_workers.jobs.faults import CallFailed
from querymill_workers.jobs.in_chat import context_of, shown_turns
from querymill_workers.jobs.ports import Common
from querymill_workers.jobs.usage import ProviderUsage
from querymill_workers.text.queries import wrapped

#: The chat model is cut this long before the deadline, in seconds: what it writes still has to be searched.
SEARCH_MARGIN_S: Final = 0.12


class WritingPorts(Common, Protocol):
    """What writing may touch."""

    @property
    def rewriter(self) -> Rewriter:
        """The chat model that writes."""
        ...

    @property
    def answers(self) -> Answers:
        """Whether a chat model writes answers is asked of it."""
        ...


def write_texts(
    claim: Claim, request: KindSearch, ports: WritingPorts, *, terms: Mapping[str, str] | None = None
) -> tuple[Sequence[str], ProviderUsage]:
    """Have the chat model write what a step is named after. Return the texts that say something new.

    If the job has ended while the model wrote, there are none. Nor are there if nobody asked for a standalone question,
    and no chat model writes answers: one that is too small for that is too small for this.

    Args:
        claim: The step: ``hyde``, ``standalone``, or a method of `multi_query`.
        request: The search whose question is expanded.
        ports: The chat model, and the clock to compare the deadline with.
        terms: Explanations of the question's terms, for ``synonym``.

    Raises:
        Unavailable: The chat model did not reply in time.
        Failed: Its reply holds no text that a search could use.
        Refused: Another call would not help.
    """
    if claim.step == STANDALONE:
        return write_standalone(claim, request, ports)
    question = context_of(request).meaning
    caller = caller_of(
        claim, request, ports, margin_s=SEARCH_MARGIN_S, what="the chat model", patience_s=request.expand_within
    )
    method = prompt_of(claim.step, request.kind)
    with naming_lateness(caller):
        reply, usage = ports.rewriter.rewrite(method, question, terms=terms or {}, caller=caller)
    if caller.has_left():
        return [], usage
    fresh = texts_in(claim.step, usable(method, reply), request.query)
    if not fresh:
        raise CallFailed("the chat model's reply held no new query")
    if request.kind == "reports":  # its fusion counts how many queries agree
        return fresh, usage
    about = [text for text in fresh if is_about(text, question)]
    if not about:
        raise CallFailed("what the chat model wrote has no word of the question")
    return about, usage


def write_standalone(claim: Claim, request: KindSearch, ports: WritingPorts) -> tuple[Sequence[str], ProviderUsage]:
    """Return the question as a chat model rewrites it from the turns before it, unless it stands alone."""
    said, is_default = shown_turns(request), request.standalone is None
    if not said or (is_default and not ports.answers.writes):
        return [], ProviderUsage()
    patience_s = EXPAND_WITHIN_S if is_default and request.expand_within is None else request.expand_within
    caller = caller_of(claim, request, ports, margin_s=SEARCH_MARGIN_S, what="the chat model", patience_s=patience_s)
    with naming_lateness(caller):
        reply, usage = ports.rewriter.write_standalone(request.query, said, caller=caller)
    if not wrapped(reply, limit=1):
        raise CallFailed("the chat model's reply held no question")
    return ([] if caller.has_left() else texts_in(STANDALONE, reply, request.query)), usage


def prompt_of(method: str, kind: str) -> str:
    """Return the name of the prompt by which a method writes for a kind of document.

    >>> prompt_of("hyde", "files"), prompt_of("variant", "files"), prompt_of("variant", "reports")
    ('hyde-files', 'variant-any', 'variant')
    """
    if kind == "reports":
        return method
    return f"{method}-{kind}" if method == HYDE else f"{method}-any"
