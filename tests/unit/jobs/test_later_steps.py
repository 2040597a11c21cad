from querymill_shared.contracts.reports.search import WHY_NOT, ReportSearch
from querymill_shared.queues import Queue
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.later_steps import add_steps
from tests.fakes.jobs import CommonPorts

REQUEST = ReportSearch(query="revenue?", collection="filings")


def test_steps_are_added_once_and_rung_by_who_added_them() -> None:
    ports = CommonPorts()
    job_id, _ = ports.board.submit(REQUEST)
    picture = ports.board.picture(job_id)
    assert add_steps(picture, [WHY_NOT], REQUEST, ports) == [Bell(job_id, WHY_NOT, REQUEST.queue_of(WHY_NOT))]
    # Another worker that saw the same picture.
    assert add_steps(picture, [WHY_NOT, "rerank-01"], REQUEST, ports) == [Bell(job_id, "rerank-01", Queue.RERANK)]
