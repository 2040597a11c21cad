"""At which step is the gold lost? ``python -m tests.quality.measure_why_not SETS``.

Each of the natural sets is ingested into one embedded stack and asked as `querymill eval` asks it, ten hits a question.
A question without gold among them fails. It is asked again for each of its best gold, with `why_not`: it counts at the
step that the gold passed which came furthest. What `why_not` calls a hit although the search did not return it, or
explains by no step, counts as *unexplained*: a defect.

``--show`` prints what is said of each gold; the questions themselves are in `natural/questions`.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from querymill import Querymill
from querymill.cli.stack import services
from querymill.cli.terminal import Console
from querymill_evaluation.cli.evaluate_kinds import Evaluation, Sample
from querymill_evaluation.cli.measuring import KINDS, ingest_set, prepared
from querymill_evaluation.file_sets import read_file_set
from querymill_evaluation.message_sets import read_message_set
from querymill_evaluation.module_sets import read_module_set
from querymill_evaluation.sets import read_report_set
from querymill_shared.contracts.kinds import KindSearch, limit_of
from querymill_shared.contracts.why_not import Absence
from querymill_shared.values import value

#: Hits of a question. What lies behind them is not looked at by whoever reads a list.
DEPTH: Final = 10
UNEXPLAINED: Final = "unexplained"


@value
class LostGold:
    """A question whose gold is not among its hits: what is said of the gold that came furthest."""

    kind: str
    query_id: str
    step: str
    said: str


def main() -> None:
    """Ingest, ask, and print the table."""
    options = _options()
    say, lost, asked = Console(stderr=True), list[LostGold](), Counter[str]()
    with services(options.data, say), Querymill() as mill:
        held = mill.collections()
        for kind in options.kinds.split(","):
            chosen = prepared(options.sets / f"natural_{kind}", kind, {}, Sample())
            if not all(kind in held.get(name, ()) for name in chosen.documents):
                ingest_set(mill, chosen, kind, say)
            asked[kind] = len(chosen.requests)
            lost += lost_in(mill, kind, chosen, names_of(options.sets / f"natural_{kind}", kind))
            say.print(f"{kind}: {sum(one.kind == kind for one in lost)} of {asked[kind]} fail")
    print("\n".join(table(asked, lost)))
    if options.show:
        print("\n".join(f"{one.kind} {one.query_id}: {one.step}: {one.said}" for one in lost))
    sys.exit(any(one.step == UNEXPLAINED for one in lost))


def names_of(folder: Path, kind: str) -> Mapping[str, str]:
    """Return what `why_not` calls the judged things of a set, by their ids; those that are left out are called so."""
    match kind:
        case "reports":
            return {id_: f"{sha1}/page/{page}" for (sha1, page), id_ in read_report_set(folder).corpus_ids.items()}
        case "modules":
            return {id_: str(document) for document, id_ in read_module_set(folder).corpus_ids.items()}
        case "files":
            return {id_: path for (_, path), id_ in read_file_set(folder).corpus_ids.items()}
        case "messages":
            said = [(one.session_id, message) for one in read_message_set(folder).sessions for message in one.messages]
            return {
                message.message_id: f"{session_id}/{message.message_id}"
                for session_id, message in said
                if message.message_id is not None
            }
        case _:
            return {}


def lost_in(mill: Querymill, kind: str, chosen: Evaluation, names: Mapping[str, str]) -> Iterator[LostGold]:
    """Yield the questions of a set without gold among their hits, and where it was lost."""
    for query_id, request in chosen.requests:
        cut = request.model_copy(update={limit_of(type(request)): DEPTH})
        grades = {id_: grade for id_, grade in chosen.qrels[query_id].items() if grade > 0}
        if not grades.keys() & chosen.scores(answered(mill, cut)).keys():
            best = [id_ for id_, grade in grades.items() if grade == max(grades.values())]
            absences = [answered(mill, cut.model_copy(update={"why_not": names.get(id_, id_)})).why_not for id_ in best]
            yield furthest(kind, query_id, absences)


def answered(mill: Querymill, request: KindSearch) -> Any:
    """Return the result of a search."""
    return mill.submit(request).result(timeout=request.deadline + 10)


def furthest(kind: str, query_id: str, absences: Sequence[Absence | None]) -> LostGold:
    """Return where the gold was lost that passed the most steps.

    >>> gates = ["collection", "words", "limit"]
    >>> early, late = (Absence.at("a", gates, gate, "so") for gate in ("words", "limit"))
    >>> furthest("messages", "m01", [early, late]).step
    'limit'
    """
    explained = [
        (list(absence.gates).index(absence.failed), absence.failed)
        for absence in absences
        if absence is not None and absence.failed is not None
    ]
    if len(explained) < len(absences):
        return LostGold(kind, query_id, UNEXPLAINED, "; ".join(map(str, absences)))
    _, gate = max(explained, key=lambda one: one[0])
    return LostGold(kind, query_id, gate.name, gate.said)


def table(asked: Mapping[str, int], lost: Sequence[LostGold]) -> Iterator[str]:
    """Yield the lines of a table: for each kind, the steps at which questions lost their gold, most first."""
    yield "| kind | questions | fail | lost at |\n|---|---|---|---|"
    for kind, questions in asked.items():
        counted = Counter(one.step for one in lost if one.kind == kind)
        steps = ", ".join(f"{step} {times}" for step, times in counted.most_common())
        yield f"| {kind} | {questions} | {counted.total()} | {steps or '–'} |"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.quality.measure_why_not")
    parser.add_argument("sets", type=Path, help="the folder of the natural sets")
    parser.add_argument("--kinds", default=",".join(KINDS), help="kinds that are asked, by commas (default: all)")
    parser.add_argument("--data", type=Path, help="folder that keeps the stack (default: a temporary one)")
    parser.add_argument("--show", action="store_true", help="print what is said of each gold that was lost")
    return parser.parse_args()


if __name__ == "__main__":
    main()
