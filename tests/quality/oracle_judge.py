"""Measure what a judge could gain on a set: the ceiling of its candidates, and what an oracle makes of them.

    python -m tests.quality.oracle_judge SET KIND DATA [QUESTIONS]

The oracle is a rerank endpoint that knows the judgements. The ceiling is the best nDCG@10 that any order of the first
100 candidates allows: a document that is not among them cannot be put right. Both searches return 100 hits, of a corpus
that is ingested once, into DATA.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

from querymill_evaluation.measures import measure_run
from querymill_evaluation.runs import read_run
from querymill_evaluation.sets import read_parts
from querymill_shared.contracts.kinds import SEARCHES, limit_of
from querymill_workers.text.words import words
from tests.fakes.openai_server import Answer, OpenAIServer

#: A passage is of a judged text if so many of its runs of words are in it, or so many of its words if the text is at
#: most so many times longer.
SAME_RUNS: Final = 0.6
SAME_WORDS: Final = 0.9
LONGER: Final = 20
#: Words of a run.
RUN: Final = 4
#: What a page is called, which stands above its text: a name of many words would make a short page a stranger's.
PAGE_NAME: Final = re.compile(r"[^\n]*, page \d+\n")
#: Candidates that are measured.
DEPTH: Final = 100

Qrels = Mapping[str, Mapping[str, int]]


def is_part(passage: str, id_: str, text: str) -> bool:
    """Return whether a passage is of a document: it names its path, or most runs of its words are there.

    A table is told in other runs than it is written in: of a text that is not much longer, its words are enough. Of a
    long session they are not, because it has nearly all the words of a short passage of another.

    >>> said = "the ninth ship of the fleet was sold to Bergen"
    >>> is_part("ninth ship of the fleet was sold", "d1", said), is_part("a ship of Oslo", "d1", said)
    (True, False)
    >>> is_part("2019, ships: 9; 2019, crew: 70", "d1", "| 2019\\nships | 9\\ncrew | 70")
    True
    >>> is_part("7c9e6679-7425-40de-944b-e07fc1f90ae7, page 3\\nThe crew of nine", "d1", "The crew of nine was paid.")
    True
    >>> is_part("src/ship.py, lines 1 to 3", "fleet:src/ship.py", "")
    True
    """
    path = id_.partition(":")[2] or id_
    if "/" in path and path in passage:
        return True
    named = PAGE_NAME.match(passage)
    passage = passage[named.end() :] if named else passage
    said, runs = runs_of(passage, 1), runs_of(passage, RUN)
    if len(text) <= LONGER * len(passage) and said and len(said & runs_of(text, 1)) >= SAME_WORDS * len(said):
        return True
    return bool(runs) and len(runs & runs_of(text, RUN)) >= SAME_RUNS * len(runs)


@cache
def runs_of(text: str, length: int) -> frozenset[tuple[str, ...]]:
    """Return each run of words of a text. They are kept: an oracle that ponders would be cut by the deadline."""
    said = words(text)
    return frozenset(zip(*(said[start:] for start in range(length)), strict=False))


def relevances(passages: Sequence[str], grades: Mapping[str, int], texts: Mapping[str, str]) -> list[float]:
    """Return what an oracle says of passages: the grade of the document that each is of, as a share of the highest."""
    highest = max(grades.values(), default=0)
    return [
        max(
            (grade / highest for id_, grade in grades.items() if is_part(passage, id_, texts.get(id_, ""))), default=0.0
        )
        for passage in passages
    ]


def ceiling_of(run: Mapping[str, Sequence[str]], qrels: Qrels) -> dict[str, float]:
    """Return the best nDCG@10 that any order of what was found allows, and how much of the judged was found.

    >>> ceiling_of({"q": ["a", "b"]}, {"q": {"b": 1, "c": 1}})
    {'ceiling': 0.6131, 'recall@100': 0.5}
    """
    best = {query: {id_: float(qrels[query].get(id_, 0)) for id_ in found} for query, found in run.items()}
    found = [sum(id_ in ids for id_ in qrels[query]) / len(qrels[query]) for query, ids in run.items()]
    return {
        "ceiling": measure_run(best, qrels)["ndcg@10"],
        "recall@100": round(sum(found) / len(found), 4) if found else 0.0,
    }


def texts_of(corpus: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the texts of a set by their ids, and by those of their sessions, of which a passage may be a part."""
    texts: dict[str, str] = {}
    for line in corpus:
        about = line.get("metadata", {})
        # The text of a long session is cut in some sets, while its messages are whole.
        parts = [line.get("title"), line.get("text"), *(message["text"] for message in about.get("messages", ()))]
        said = "\n".join(filter(None, parts))
        for name in (line["_id"], about.get("session_id")):
            if name is not None:
                texts[str(name)] = f"{texts.get(str(name), '')}\n{said}"
    return texts


def asked(folder: Path, kind: str, data: Path, questions: int, *, rerank: bool, url: str) -> dict[str, list[str]]:
    """Return the ranking of each question by the product, with or without the oracle at this address."""
    name, limit = limit_of(SEARCHES[kind]), ["--limit", str(questions)]
    options = [f"{name}={DEPTH}", f"rerank={str(rerank).lower()}", *(["candidates=100"] if kind == "modules" else [])]
    kept = data / f"judged-{rerank}"
    given = {"RERANK_BASE_URL": url, "RERANK_MODEL": "oracle"}
    command = [str(Path(sys.executable).with_name("querymill")), "eval", "set", str(folder), "--kind", kind, *limit]
    command += ["--data", str(data / "stack"), "--save", str(kept)]
    command += [part for option in options for part in ("--option", option)]
    subprocess.run(command, env=os.environ | given, check=True)
    outcomes = read_run(kept).outcomes
    return {id_: sorted(one.scores, key=lambda found: -one.scores[found])[:DEPTH] for id_, one in outcomes.items()}


def main(folder: Path, kind: str, data: Path, questions: int) -> None:
    """Print the figures of a set as a line of JSON."""
    qrels, queries, corpus = read_parts(folder)
    texts, by_text = texts_of(corpus), {query.text: query.query_id for query in queries}

    def judge(request: dict[str, Any]) -> Answer:
        known = (id_ for text, id_ in by_text.items() if text.startswith(request["query"][:200]))
        said = relevances(request["documents"], qrels.get(next(known, ""), {}), texts)
        results = [{"index": index, "relevance_score": value} for index, value in enumerate(said)]
        return Answer(json.dumps({"results": results}).encode())

    with OpenAIServer().running() as server:
        server.script.rerank = judge
        alone = asked(folder, kind, data, questions, rerank=False, url=server.url)
        judged = asked(folder, kind, data, questions, rerank=True, url=server.url)

    def ndcg(run: Mapping[str, Sequence[str]]) -> float:
        return measure_run({q: {id_: -float(n) for n, id_ in enumerate(ids)} for q, ids in run.items()}, qrels)[
            "ndcg@10"
        ]

    figures = {"set": folder.name, "kind": kind, "questions": len(judged), "alone": ndcg(alone), "oracle": ndcg(judged)}
    print(json.dumps(figures | ceiling_of(judged, qrels)))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]), int(sys.argv[4]) if len(sys.argv) > 4 else 45)
