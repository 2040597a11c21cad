"""What is on the board for the sake of one job goes with its result, wherever it lies."""

from typing import Literal

import pytest

from querymill_shared.board import Outcome, Verdict
from querymill_shared.board.connections import open_commands
from querymill_shared.contracts.embed import EmbedTexts
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.contracts.reports.search import ReportSearch
from querymill_shared.contracts.submit_options import SubmitOptions
from querymill_shared.settings import Settings
from tests.contract.board.test_board_idempotency import INGEST
from tests.fixtures.boards import claimed, empty_board

RESULT_TTL_S = 60
EMBED = {"collection": "filings", "texts": [{"id": "a", "text": "nine ships"}]}
ASKED: dict[str, JobRequest] = {
    "search": ReportSearch(query="revenue?", collection="filings", deadline=600),
    "embedding": EmbedTexts.model_validate(EMBED),
    "ingestion": INGEST,
}


@pytest.mark.parametrize("state", ["done", "failed", "cancelled"])
@pytest.mark.parametrize("asked", ASKED)
def test_what_is_kept_of_a_job_goes_with_its_result(
    valkey_url: str, asked: str, state: Literal["done", "failed", "cancelled"]
) -> None:
    settings = Settings(redis_url=valkey_url, querymill_result_ttl_s=RESULT_TTL_S)
    with empty_board(settings) as board, open_commands(valkey_url) as client:
        # Of two that ask the same, the second follows the first if reads are asked for. Each has a key of its own.
        jobs = [board.submit(ASKED[asked], SubmitOptions(idempotency_key=f"turn-{n}"))[0] for n in range(2)]
        for job_id in jobs:
            if state == "done" and (job_id == jobs[0] or asked == "ingestion"):
                for step in ASKED[asked].steps:
                    board.finish(claimed(board, job_id, step), Outcome())
            board.settle(job_id, Verdict(state, result="{}" if state == "done" else "", reason="why"))
        kept = {key: client.pttl(key) for job_id in jobs for key in client.scan_iter(f"*{job_id}*")}
        for beside in ("*:idem:*", "*:inflight:*"):
            kept |= {key: client.pttl(key) for key in client.scan_iter(beside)}
        stays = {key: ms for key, ms in kept.items() if not 0 < ms <= RESULT_TTL_S * 1000}
        assert not {key: ms for key, ms in stays.items() if not key.endswith(":trail")}
