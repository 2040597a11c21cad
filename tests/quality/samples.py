"""A stated sample of a set: a few questions, and a corpus that is cut to fit them."""

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from querymill_evaluation.sets import SetQuery, read_lines, read_qrels, sample_key
from tests.quality.stages import DevSet

#: Documents of a sample for each question.
DOCUMENTS: Final = 20
#: Pages of a report that are kept besides the judged ones.
PAGES: Final = 20


def sampled(chosen: DevSet, folder: Path, target: Path, questions: int | None) -> Path:
    """Write a sample of a set to a folder of the same name, or return the set itself if it is not cut.

    Whole groups (conversations, logs, filings, repositories) are taken in the order of a hash until they hold 20
    documents for each question; of reports each keeps its judged pages and 20 others. A set without groups keeps the
    judged documents, and others in the order of a hash. The questions are the first of those groups in the order of a
    hash.
    """
    if questions is None:
        return folder
    qrels = read_qrels(folder / "qrels.tsv")
    corpus = [line for _, line in read_lines(folder, "corpus")]
    asked = [
        SetQuery(line["_id"], line["text"], line.get("metadata") or {}) for _, line in read_lines(folder, "queries")
    ]
    asked = sorted((query for query in asked if query.query_id in qrels), key=lambda query: sample_key(query.query_id))
    group = _group_of(chosen)
    if group:
        corpus = _whole_groups(corpus, asked, group, qrels, questions * DOCUMENTS, thin=chosen.kind == "reports")
        kept = {_value(line, group) for line in corpus}
        asked = [query for query in asked if str(query.metadata[group]) in kept][:questions]
    else:
        asked = asked[:questions]
        judged = {document for query in asked for document in qrels[query.query_id]}
        corpus.sort(key=lambda line: (line["_id"] not in judged, sample_key(str(line["_id"]))))
        corpus = corpus[: max(len(judged), questions * DOCUMENTS)]
    _write(target / folder.name, folder, corpus, asked)
    return target / folder.name


def _group_of(chosen: DevSet) -> str:
    # A set that is asked in two ways has one sample.
    return {"financebench_pages": "doc_name"}.get(chosen.folder, chosen.group)


def _value(line: Mapping[str, Any], group: str) -> str:
    return str((line.get("metadata") or {}).get(group))


def _whole_groups(
    corpus: Sequence[dict[str, Any]],
    asked: Sequence[SetQuery],
    group: str,
    qrels: Mapping[str, Mapping[str, int]],
    limit: int,
    *,
    thin: bool,
) -> list[dict[str, Any]]:
    judged = {document for query in asked for document in qrels[query.query_id]}
    wanted = dict.fromkeys(str(query.metadata[group]) for query in asked)
    members: dict[str, list[dict[str, Any]]] = {name: [] for name in wanted}
    for line in corpus:
        members.get(_value(line, group), []).append(line)
    kept: list[dict[str, Any]] = []
    for name in sorted(wanted, key=sample_key):
        lines = _thinned(members[name], judged) if thin else members[name]
        if not kept or len(kept) + len(lines) <= limit:
            kept += lines
    return kept


def _thinned(lines: list[dict[str, Any]], judged: set[str]) -> list[dict[str, Any]]:
    others = sorted((line["_id"] for line in lines if line["_id"] not in judged), key=sample_key)[:PAGES]
    return [line for line in lines if line["_id"] in judged or line["_id"] in others]


def _write(target: Path, source: Path, corpus: Sequence[Mapping[str, Any]], asked: Sequence[SetQuery]) -> None:
    target.mkdir(parents=True, exist_ok=True)
    with (target / "corpus.jsonl").open("w", encoding="utf-8") as lines:
        lines.writelines(json.dumps(line) + "\n" for line in corpus)
    with (target / "queries.jsonl").open("w", encoding="utf-8") as lines:
        lines.writelines(
            json.dumps({"_id": query.query_id, "text": query.text, "metadata": dict(query.metadata)}) + "\n"
            for query in asked
        )
    shutil.copy(source / "qrels.tsv", target / "qrels.tsv")
