"""The board as the search for candidates sees it: the job's own steps, without those of the judge."""

from typing import Final

from typing_extensions import override

from querymill_shared.board import Board
from querymill_shared.contracts.rerank import judge_s, judges_batch
from querymill_shared.contracts.search import AnySearch
from querymill_workers.dispatch.branch_board import BranchBoard
from querymill_workers.dispatch.reranking.request import for_candidates

#: The step that holds what the search has found. Nobody runs it.
CANDIDATES: Final = "candidates"


class CandidatesBoard(BranchBoard):
    """The part of a board that belongs to the search for candidates, whose steps are named as in a job of its own."""

    def __init__(self, board: Board, request: AnySearch) -> None:
        sooner_s = judge_s(request.deadline)
        super().__init__(board, CANDIDATES, for_candidates(request), request, sooner_s=sooner_s)

    @override
    def _outer(self, own: str) -> str:
        return own

    @override
    def _own(self, step: str) -> str:
        return "" if step == CANDIDATES or judges_batch(step) else step

    @override
    def _outer_query(self, text: str) -> str:
        return text

    @override
    def _own_texts(self, query: str) -> tuple[str, ...]:
        return (query,)
