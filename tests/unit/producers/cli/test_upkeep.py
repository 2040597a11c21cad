"""What the commands that rebuild indexes say."""

from querymill.cli.upkeep import told
from querymill_shared.contracts.reindex import ReindexResult


def test_a_rebuild_names_its_indexes_and_what_the_new_version_reads_differently() -> None:
    result = ReindexResult(
        job_id="j", of="messages", complete=True, outcome="reindexed", total=12, pending=3,
        previous={"messages": 1, "contexts": 1}, version=2, changes="numbers have no separators",
    )  # fmt: skip
    assert told(result).splitlines() == [
        "reindexed: 12 texts; 3 passages wait for their vectors",
        "indexes that another version of the tokeniser had built: messages (version 1), contexts (version 1)",
        "version 2 reads differently: numbers have no separators",
    ]


def test_a_fresh_index_has_nothing_to_tell() -> None:
    fresh = ReindexResult(job_id="j", of="files", complete=True, outcome="fresh", total=0, version=2)
    assert told(fresh) == "fresh: 0 texts"
