"""What the turns before a question add, by words alone: ``python -m tests.quality.measure_history FOLDER_OF_SETS``.

In memory, in minutes. A set whose questions have no history is asked with an unrelated one, the question two places
before with its answer: what stands alone should lose nothing. One whose questions have a history is also asked as a
perfect rewrite would say them (``perfect_rewrites.py``).
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from querymill_evaluation.measures import measure_run
from querymill_evaluation.sets import SetQuery, read_parts, sample
from querymill_workers.text.in_context import SaidTurn, in_context
from querymill_workers.words.memory import MemoryWords
from querymill_workers.words.ports import WordUnit
from tests.quality.perfect_rewrites import perfect_rewrites, texts_of

#: Sets without a history, and how many of their questions are asked.
OTHERS: Final = ("qbqtc_zh", "cranfield", "cmrc2018_zh", "tatqa", "irc_messages", "cosqa")
ASKED: Final = 250
#: How much of a judged text stands for an answer, in characters.
_ANSWER: Final = 600


def measure(folder: Path) -> tuple[float, ...]:
    """Return the nDCG@10 of a set for its questions alone, with the turns before them, and for perfect rewrites."""
    qrels, every, corpus = read_parts(folder)
    texts = texts_of(corpus)
    words = MemoryWords()
    words.put("c", "s", [WordUnit(id_, text) for id_, text in texts.items()])
    queries = sample(every, ASKED)
    rewrites = perfect_rewrites(queries, qrels, texts)
    runs: tuple[dict[str, Mapping[str, float]], ...] = ({}, {}, {}) if rewrites else ({}, {})
    for place, query in enumerate(queries):
        said = [SaidTurn(turn.role, turn.text) for turn in query.history]
        if not any(each.history for each in queries):
            said = unrelated(queries[place - 2], qrels, texts)
        asked = [(query.text, in_context(query.text, turns).beside) for turns in ((), tuple(said))]
        asked.append((rewrites.get(query.query_id, query.text), in_context(query.text, ()).beside))
        for run, (text, beside) in zip(runs, asked, strict=False):
            hits = words.search("c", "s", text, limit=10, beside=beside)
            run[query.query_id] = {hit.id: 1 / rank for rank, hit in enumerate(hits, start=1)}
    return tuple(measure_run(run, {id_: qrels[id_] for id_ in run})["ndcg@10"] for run in runs)


def unrelated(query: SetQuery, qrels: Mapping[str, Mapping[str, int]], texts: Mapping[str, str]) -> list[SaidTurn]:
    """Return another question of a set and its best judged text as the turns of a chat."""
    judged = qrels[query.query_id]
    answer = texts.get(max(judged, key=lambda id_: judged[id_]), "")
    return [SaidTurn("user", query.text), SaidTurn("assistant", answer[:_ANSWER])]


def main(arguments: Sequence[str]) -> None:
    """Measure each set and print its figures."""
    for name in ("mtrag", *OTHERS):
        alone, late, *perfect = measure(Path(arguments[0]) / name)
        shown = "".join(f"  {each:.3f}" for each in perfect)
        print(f"{name:<14}{alone:.3f}  {late:.3f}  {late - alone:+.3f}{shown}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
