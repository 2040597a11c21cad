"""How often the figure asked for stands in an answer: ``python -m tests.quality.measure_answers FOLDER_OF_SETS``.

Questions whose answer is a figure that stands in their gold texts are asked of the texts of their own document, the
first ten by words. The quotation is made as the workers make it. ``--model N`` has the chat model of the embedded stack
answer N of the questions, too, from the same texts with the workers' own prompt.
"""

import argparse
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import openai

from querymill_embedded import StackPart, temporary_stack
from querymill_evaluation.sets import SetQuery, read_judged, read_lines
from querymill_workers.inference.prompts import answer_turns
from querymill_workers.services.rules.budget import PromptPassage, fitted
from querymill_workers.services.rules.quoting import Quotable, quote, said_in
from querymill_workers.text.words import words
from tests.quality.oracle import Oracle

#: The sets, with the field of a question that names its document.
SETS: Final = {"tatqa": "doc", "financebench_pages": "doc_name"}
#: Every other question of it chose the weights of quotations.
FITTED_ON: Final = "tatqa"
HITS, ANSWER_TOKENS, PASSAGE_TOKENS = 10, 500, 500
_NUMBER: Final = re.compile(r"\d[\d,]*(?:\.\d+)?")
_FENCE: Final = re.compile("<<[^<>]*>>")
_YEARS: Final = re.compile(r"(?:FY|Q\d ?)?(?:19|20)\d\d|FY ?\d\d|Q\d")
#: Words of an answer that is a figure, and of a sentence that states one.
_FIGURE_WORDS, _STATED_WORDS = 5, 14


@dataclass(frozen=True)
class FigureQuestion:
    """A question whose answer is one or more figures, and the texts that it is asked of, best first."""

    text: str
    figures: frozenset[str]
    hits: Sequence[Quotable]
    elsewhere: Sequence[Quotable]


def figures_in(text: str) -> frozenset[str]:
    """Return the numbers of a text as they are equal: 1,234.50 is 1234.5."""
    plain = (number.replace(",", "") for number in _NUMBER.findall(text))
    return frozenset(number.rstrip("0").rstrip(".") if "." in number else number for number in plain)


def figures_of(answer: object) -> frozenset[str]:
    """Return the figures that an answer consists of, none if it is anything else."""
    if isinstance(answer, list):
        is_figure = all(figures_in(part) and len(part.split()) <= _FIGURE_WORDS for part in answer)
        return frozenset().union(*map(figures_in, answer)) if is_figure else frozenset()
    found = figures_in(_YEARS.sub("", str(answer)))
    return found if len(found) <= 2 and len(str(answer).split()) <= _STATED_WORDS else frozenset()


def read_questions(folder: Path, group: str) -> list[FigureQuestion]:
    """Read the questions of a set whose figures stand in their gold texts."""
    qrels, queries = read_judged(folder)
    lines = {line["_id"]: line for _, line in read_lines(folder, "corpus")}
    oracle = Oracle({id_: words(line["text"]) for id_, line in lines.items()})
    documents: dict[str, list[str]] = {}
    for id_, line in lines.items():
        documents.setdefault(line["metadata"][group], []).append(id_)
    names = sorted(documents)

    def texts(query: SetQuery, document: str) -> list[Quotable]:
        scores = oracle.scores(words(query.text))
        ranked = sorted(documents[document], key=lambda id_: -scores.get(id_, 0.0))[:HITS]
        return [Quotable(lines[id_]["text"], _title(lines[id_]["metadata"])) for id_ in ranked]

    found = []
    for query in queries:
        figures = figures_of(query.metadata["answer"])
        gold = " ".join(lines[id_]["text"] for id_ in qrels[query.query_id] if id_ in lines)
        if figures and figures <= figures_in(gold):
            own = query.metadata[group]
            other = names[(names.index(own) + len(names) // 2) % len(names)]
            found.append(FigureQuestion(query.text, figures, texts(query, own), texts(query, other)))
    return found


def _title(metadata: dict[str, object]) -> str:
    return " ".join(str(metadata[name]) for name in ("company", "year") if name in metadata)


def quotation(question: str, hits: Sequence[Quotable]) -> str:
    """Return the quotation, "" if nothing is near."""
    return "\n".join(said_in(quote(question, hits), max_tokens=ANSWER_TOKENS))


def report(name: str, questions: Sequence[FigureQuestion], answer: Callable[[str, Sequence[Quotable]], str]) -> None:
    """Print the share of questions whose figures stand in their answers."""
    answers = [answer(question.text, question.hits) for question in questions]
    right = sum(question.figures <= figures_in(said) for question, said in zip(questions, answers, strict=True))
    silent = sum(not said for said in answers)
    length = sum(map(len, answers)) / max(len(answers), 1)
    share = right / max(len(questions), 1)
    print(
        f"{name}: {right} of {len(questions)} = {share:.3f}; nothing said: {silent}; {length:.0f} characters",
        flush=True,
    )


def report_elsewhere(name: str, questions: Sequence[FigureQuestion]) -> None:
    """Print the share of questions that are refused when they are asked of another document."""
    refused = sum(not quotation(question.text, question.elsewhere) for question in questions)
    print(f"{name}, asked of another document: {refused} of {len(questions)} refused", flush=True)


@contextmanager
def chat_model() -> Iterator[Callable[[str, Sequence[Quotable]], str]]:
    """Start the chat model of the embedded stack, and yield what answers with it."""
    with temporary_stack(parts={StackPart.CHAT}) as stack:
        at = stack.environment()
        client = openai.OpenAI(base_url=at["OPENAI_BASE_URL"], api_key=at["OPENAI_API_KEY"], timeout=600)

        def ask(question: str, hits: Sequence[Quotable]) -> str:
            prompt = [PromptPassage(hit.text, hit.title) for hit in hits]
            shown = [passage.text for passage in fitted(prompt, max_tokens=PASSAGE_TOKENS)]
            reply = client.chat.completions.create(
                model=at["CHAT_MODEL"],
                messages=answer_turns(question, shown, "en"),  # type: ignore[arg-type]  # turns of roles and texts
                max_tokens=150,
                temperature=0,
            )
            return _FENCE.sub("", reply.choices[0].message.content or "")  # its digits are no figures

        yield ask


def spread(questions: Sequence[FigureQuestion], count: int) -> list[FigureQuestion]:
    """Return some of the questions, evenly spread."""
    step = max(len(questions) / count, 1.0)
    return [questions[int(at * step)] for at in range(min(count, len(questions)))]


def main() -> int:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", type=Path, help="folder of sets")
    parser.add_argument("--model", type=int, default=0, help="questions of each set that the chat model answers, too")
    chosen = parser.parse_args()
    sampled: dict[str, list[FigureQuestion]] = {}
    for name, group in SETS.items():
        questions = read_questions(chosen.sets / name, group)
        if name == FITTED_ON:
            report(f"{name}, fitted on", questions[::2], quotation)
            report(f"{name}, held out", questions[1::2], quotation)
        report(name, questions, quotation)
        report_elsewhere(name, questions)
        asked = questions[1::2] if name == FITTED_ON else questions
        sampled[name] = spread(asked, chosen.model) if chosen.model else []
    if chosen.model:
        with chat_model() as answer:
            for name, questions in sampled.items():
                report(f"{name}, quoted, of the sample", questions, quotation)
                report(f"{name}, by the bundled chat model", questions, answer)
    return 0


if __name__ == "__main__":
    sys.exit(main())
