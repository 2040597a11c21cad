"""Which branch searches a query that several propose: asked of the board, or known where all of them run."""

from querymill_shared.board import Board, Outcome
from querymill_shared.contracts.reports.search import ReportSearch
from querymill_shared.hits import BoardHit
from tests.fixtures.boards import claimed

SEARCH = ReportSearch(query="revenue?", collection="filings", hyde=True, deadline=60)
HIT = BoardHit("r1/page/1", 0.8, 3)


def test_branches_that_were_claimed_together_take_queries_among_themselves(board: Board) -> None:
    asked = SEARCH.model_copy(update={"multi_query": ("synonym", "variant")})
    job_id = board.submit(asked)[0]
    hyde, synonym, variant = board.claim_steps(job_id, "hyde", life="", limit=10).held
    assert board.take_queries(hyde, ["a", "b"], rivals=asked.expansions) == ["a", "b"]
    assert board.take_queries(synonym, ["b", "c"], rivals=asked.expansions) == ["c"]
    assert board.take_queries(variant, ["b", "c"], rivals=asked.expansions) == []
    assert board.take_queries(synonym, ["b", "c"], rivals=asked.expansions) == ["c"]
    # Another attempt, which another process may have claimed, does not know of them, so it asks the board.
    board.finish(hyde, Outcome(hits={"a": (HIT,)}))
    board.postpone(synonym, delay_s=0, reason="again", cause="failure")
    again = claimed(board, job_id, "synonym")
    assert board.take_queries(again, ["a", "c"], rivals=asked.expansions) == ["c"]
    assert board.picture(job_id).queries == {"c": "synonym"}


def test_branches_that_were_claimed_one_by_one_take_queries_on_the_board(board: Board) -> None:
    asked = SEARCH.model_copy(update={"multi_query": ("synonym",)})
    job_id = board.submit(asked)[0]
    (hyde,) = board.claim_steps(job_id, "hyde", life="", limit=1).held
    (synonym,) = board.claim_steps(job_id, "synonym", life="", limit=1).held
    assert board.take_queries(hyde, ["a"], rivals=asked.expansions) == ["a"]
    assert board.take_queries(synonym, ["a"], rivals=asked.expansions) == []
