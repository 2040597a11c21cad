"""Expansion: what a chat model writes next to a question is searched, too. Every kind of search may have it."""

from collections.abc import Sequence
from typing import Annotated, Final, Literal

from pydantic import Field, FiniteFloat

from querymill_shared.branches import HYDE, ORIGINAL, STANDALONE, step_in
from querymill_shared.contracts.fields import Distinct
from querymill_shared.contracts.history import InChat
from querymill_shared.queues import Queue

MultiQueryMethod = Literal["synonym", "subquestion", "variant"]
#: What every kind has. Synonyms explain the terms of reports.
CommonMethod = Literal["subquestion", "variant"]
#: What nobody asked to have written is waited for no longer than this, in seconds.
EXPAND_WITHIN_S: Final = 3.0


class Expands(InChat):
    """Base class of the searches beside whose question is searched what a chat model writes, each text a branch.

    A branch that fails, or says nothing new, is left out. A question that refers back to ``history`` is also searched
    as a chat model rewrites it, unless ``standalone`` is False. By default it is where a chat model writes answers
    (`CHAT_MODEL`, `QUERYMILL_ANSWERS`), if that replies soon.
    """

    hyde: Annotated[bool, Field(description="also search by a hypothetical hit, which a chat model writes")] = False
    multi_query: Annotated[
        tuple[MultiQueryMethod, ...],
        Field(description="also search by rewritten questions: synonym, subquestion, variant"),
        Distinct,
    ] = ()
    standalone: Annotated[
        bool | None,
        Field(
            description="also search a question that refers back to history as a chat model rewrites it (default: where"
            " a chat model writes answers, and if it replies within 3 s)"
        ),
    ] = None
    expand_within: Annotated[
        FiniteFloat | None,
        Field(
            gt=0,
            le=600,
            description="seconds that the chat model has to write what is searched beside the question (default: until"
            " the deadline)",
        ),
    ] = None

    @property
    def expansions(self) -> tuple[str, ...]:
        """The steps in which a chat model writes what is searched beside the question."""
        rewritten = (STANDALONE,) if self.history and self.standalone is not False else ()
        return (*rewritten, *((HYDE,) if self.hyde else ()), *self.multi_query)


class ExpandsInBranches(Expands):
    """Base class of the searches that are run again, as a branch of the job, for each text that is written."""

    multi_query: Annotated[
        tuple[CommonMethod, ...],
        Field(description="also search by rewritten questions: subquestion, variant"),
        Distinct,
    ] = ()

    def steps_beside(self, own: Sequence[str]) -> tuple[str, ...]:
        """Return the first steps of a search whose own are given: those of a branch, if anything is written beside."""
        if not self.expansions:
            return tuple(own)
        return (*(step_in(ORIGINAL, step) for step in own), *self.expansions)

    def queue_of(self, step: str) -> Queue:
        """Return the queue of a step: those that write wait for a model."""
        return Queue.EXPAND if step in self.expansions else super().queue_of(step)
