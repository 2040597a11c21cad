"""How `files` is measured on a set: each repository is a collection, and is asked the queries about it."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from querymill.cli.exits import WrongUse
from querymill.client.mill import Querymill
from querymill.ingesting.kinds.files import LINES
from querymill_evaluation.cli.evaluate_kinds import Evaluation, Sample, score_by_rank, turns_before
from querymill_evaluation.file_sets import FileSet, read_file_set
from querymill_shared.contracts.files.ingest import CompareFiles
from querymill_shared.contracts.files.search import FileResult, FileSearch

#: Seconds until all chunks must have their vectors, and between two checks.
_VECTORS_S: Final = 3_600
_LOOK_S: Final = 2.0


def prepare_files(folder: Path, options: Mapping[str, Any], sample: Sample) -> Evaluation:
    """Make a set ready for the `files` kind. If vectors are searched, every chunk has its own before the first query.

    Raises:
        BadSet: The folder is not such a set.
    """
    sample.refuse("distractors", "sessions")
    chosen = read_file_set(folder, max_queries=sample.queries)
    requests = [
        (
            query.query_id,
            FileSearch.model_validate(
                {"query": query.text, "collection": chosen.collection(query), "deadline": 120}
                | turns_before(query)
                | dict(options)
            ),
        )
        for query in chosen.queries
    ]
    by_vectors = any("vectors" in request.searched_channels for _, request in requests)

    def judged(result: FileResult) -> list[str]:
        return [chosen.corpus_ids[result.collection, hit.path] for hit in result.results]

    def figures(query_id: str, result: FileResult) -> Mapping[str, float]:
        relevant = {corpus_id for corpus_id, grade in chosen.qrels[query_id].items() if grade > 0}
        pasted = {chosen.corpus_ids[result.collection, path] for path in result.context_files}
        return {
            "recall_of_returned": len(relevant.intersection(judged(result))) / max(1, len(relevant)),
            "recall_of_context": len(relevant.intersection(pasted)) / max(1, len(relevant)),
            "returned": len(result.results),
            "high": sum(hit.band == "high" for hit in result.results),
            "files_read": result.files_read,
            "rounds": len(result.rounds),
            **{f"tokens_{name}": count for name, count in result.token_account.model_dump().items()},
        }

    return Evaluation(
        name=chosen.name,
        lines=LINES.asking_for_vectors() if by_vectors else LINES,
        documents=chosen.files,
        requests=requests,
        qrels=chosen.qrels,
        groups={query.query_id: str(query.metadata.get("repo") or "") for query in chosen.queries},
        scores=lambda result: score_by_rank(judged(result)),
        prepare_collection=lambda mill: _await_vectors(mill, chosen) if by_vectors else None,
        figures=figures,
    )


def _await_vectors(mill: Querymill, chosen: FileSet) -> None:
    """Wait until every chunk has its vector: figures of a partly embedded collection would be too low.

    Raises:
        WrongUse: Some have none in time.
    """
    until = time.monotonic() + _VECTORS_S
    for collection, files in chosen.files.items():
        request = CompareFiles(collection=collection, files={file.path: file.sha256 for file in files})
        while (pending := mill.submit(request).result(timeout=60).pending) > 0:
            if time.monotonic() > until:
                raise WrongUse(f"{collection}: {pending} chunks have no vector after {_VECTORS_S} s")
            time.sleep(_LOOK_S)
