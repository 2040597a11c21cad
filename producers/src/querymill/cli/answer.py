"""``querymill answer``: answer a question from hits that you already have."""

from pathlib import Path
from typing import Annotated

import typer

from querymill.cli import screen
from querymill.cli.labels import LabelOption, read_labels
from querymill.cli.request_file import HISTORY_HELP, fields_in, turns_in
from querymill.cli.screen_answers import show_answered
from querymill.cli.terminal import Console, echo
from querymill.client.mill import Querymill
from querymill_shared.contracts.answer import AnswerQuestion
from querymill_shared.contracts.fields import Lane
from querymill_shared.contracts.submit_options import options_beside


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(answer)


def answer(
    file: Annotated[Path, typer.Argument(help='a JSON file: {"query", "hits": [{"id", "text", "title"?, "page"?}]}')],
    judge: Annotated[bool | None, typer.Option(help="judge the answer: grounded, relevant, complete")] = None,
    answer_tokens: Annotated[int | None, typer.Option(help="longest answer, in tokens, 16 to 4000")] = None,
    passage_tokens: Annotated[int | None, typer.Option(help="tokens of the prompt that the hits may take")] = None,
    history: Annotated[Path | None, typer.Option(help=HISTORY_HELP)] = None,
    collection: Annotated[
        str | None, typer.Option(help="collection to charge for provider calls; it need not exist (default: default)")
    ] = None,
    deadline: Annotated[float | None, typer.Option(help="seconds until the result is due")] = None,
    lane: Annotated[Lane | None, typer.Option(help="priority under a provider's rate limit")] = None,
    label: LabelOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Answer the query from the hits; shows the answer as it is written, then what it cites."""
    options = {
        "judge": judge,
        "answer_tokens": answer_tokens,
        "passage_tokens": passage_tokens,
        "history": None if history is None else turns_in(history),
        "collection": collection,
        "deadline": deadline,
        "lane": lane,
    }
    given = {name: value for name, value in options.items() if value is not None}
    fields, beside = options_beside(fields_in(file, named="FILE"))
    wanted = AnswerQuestion.model_validate({"collection": "default"} | fields | given)
    with Querymill() as mill:
        job = mill.submit_with(wanted, beside.labelled(read_labels(label)))
        if as_json:
            echo(job.result(timeout=wanted.deadline + 10).model_dump_json())
            return
        console = Console()
        screen.follow(console, wanted.query, job.events(timeout=wanted.deadline + 10))
        show_answered(console, job.result(timeout=5))
