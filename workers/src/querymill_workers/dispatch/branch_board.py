"""The board as one branch of a job sees it: a job of its own, whose steps have their own names."""

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any, cast

from querymill_shared.board import Board, Claim, Outcome, Picture, Step, Verdict
from querymill_shared.branches import step_in
from querymill_shared.contracts.events import ProgressEvent
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.contracts.search import AnySearch
from querymill_shared.queues import Queue
from querymill_workers.jobs.bell import Bell

#: Between the branch and the text of a query. No branch contains it.
_OF = "\n"


class BranchBoard:
    """The part of a board that belongs to a branch, under the names that the search of its kind gives it.

    ``asked`` is what the branch searches, and ``whole`` the request of the job, whose deadline is ``sooner_s`` seconds
    later than that of the branch.

    What a branch tells of its own ranking is not passed on: the ranking of the job is that of all branches. How the
    branch ends is kept in ``verdict``, for the whole search to go on with. ``has_closed`` is whether a step was closed,
    and ``is_to_tell`` whether readers are due to be told what was found. All else is asked of the board itself.
    """

    def __init__(
        self, board: Board, branch: str, asked: AnySearch, whole: JobRequest, *, sooner_s: float = 0.0
    ) -> None:
        self._board = board
        self._whole = whole
        self._sooner_s = sooner_s
        self.branch = branch
        self.asked = asked
        self.verdict: Verdict | None = None
        self.has_closed = self.is_to_tell = False

    def as_board(self) -> Board:
        """Return it as what a flow takes."""
        return cast("Board", self)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._board, name)

    def claim_of(self, claim: Claim) -> Claim:
        """Return the claim of a step as the branch sees it: with the deadline of the branch.

        What the only step of a job foresees of its end is not true of a branch.
        """
        expires_at = None if claim.expires_at is None else claim.expires_at - self._sooner_s
        return replace(claim, step=self._own(claim.step), request=self.asked, expires_at=expires_at, alone=None)

    def shown(self, picture: Picture) -> Picture:
        """Return the picture of the job that the branch is. Its ranking was told already: nobody reads it."""
        steps = tuple(replace(step, name=own) for step in picture.steps if (own := self._own(step.name)))
        return replace(
            picture,
            record=replace(
                picture.record,
                kind=self.asked.kind,
                collection=self.asked.collection,
                open_steps=sum(not step.is_closed for step in steps),
                told=math.inf,
            ),
            steps=steps,
            hits={text: hits for query, hits in picture.hits.items() for text in self._own_texts(query)},
            queries={
                text: self._own(step) for query, step in picture.queries.items() for text in self._own_texts(query)
            },
            request=self.asked,
            asked=self.asked,
        )

    def outer_bells(self, bells: Sequence[Bell]) -> list[Bell]:
        """Return bells of the branch as the job's."""
        return [replace(bell, step=self._outer(bell.step)) for bell in bells]

    def picture(self, job_id: str) -> Picture:
        """See `Board.picture`."""
        return self.shown(self._board.picture(job_id))

    def finish(self, held: Claim, outcome: Outcome, *, verdict: Verdict | None = None) -> Picture | None:
        """See `Board.finish`. Return the picture only if no step of the branch is open."""
        del verdict  # the job goes on
        hits = {self._outer_query(query): found for query, found in outcome.hits.items()}
        picture = self._board.finish(self._outer_claim(held), replace(outcome, hits=hits))
        self.has_closed, self.is_to_tell = True, picture is not None
        whole = self._board.picture(held.job_id) if picture is None else picture
        shown = self.shown(whole)
        closed: Step | None = next((step for step in shown.steps if step.name == held.step), None)
        is_own = closed is not None and closed.is_closed and closed.attempt == held.attempt
        return shown if is_own and shown.record.open_steps <= 0 and not whole.record.is_over else None

    def take_queries(self, held: Claim, texts: Sequence[str], *, rivals: Collection[str]) -> list[str]:
        """See `Board.take_queries`."""
        outer = [self._outer_query(text) for text in texts]
        taken = self._board.take_queries(self._outer_claim(held), outer, rivals=[*map(self._outer, rivals)])
        return [text for text in texts if self._outer_query(text) in taken]

    def add_steps(
        self, job_id: str, names: Sequence[str], *, queue_of: Callable[[str], Queue] | None = None
    ) -> list[str]:
        """See `Board.add_steps`."""
        del queue_of  # it is what the search says
        added = self._board.add_steps(job_id, [*map(self._outer, names)], queue_of=self._whole.queue_of)
        return [*map(self._own, added)]

    def append_event(self, job_id: str, event: ProgressEvent, *, held: Claim | None = None) -> bool:
        """Tell nothing: see the class."""
        del job_id, event, held
        return True

    def settle(self, job_id: str, verdict: Verdict) -> bool:
        """Keep how the branch ended."""
        del job_id
        self.verdict = self.verdict or verdict
        return True

    def _outer_claim(self, held: Claim) -> Claim:
        return replace(held, step=self._outer(held.step), request=self._whole)

    def _outer(self, own: str) -> str:
        return step_in(self.branch, own)

    def _own(self, step: str) -> str:
        """Return what a step is called in the branch, "" if it is none of its own."""
        prefix = step_in(self.branch, "")
        return step.removeprefix(prefix) if step.startswith(prefix) else ""

    def _outer_query(self, text: str) -> str:
        return self.branch + _OF + text

    def _own_texts(self, query: str) -> tuple[str, ...]:
        """Return the text of a query of the branch, or nothing if it is none of its own."""
        branch, _, text = query.partition(_OF)
        return (text,) if branch == self.branch else ()
