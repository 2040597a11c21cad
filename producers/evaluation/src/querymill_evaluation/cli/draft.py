"""``querymill eval draft``: propose questions from a collection, and let a person confirm them in the terminal."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Annotated, Final

import pydantic
import typer

from querymill.cli.exits import WrongUse
from querymill.cli.terminal import Console
from querymill.client.mill import Querymill
from querymill.client.transport import RETRIEVERS
from querymill_evaluation.draft_sets import BadDraft, Draft, DraftSet, open_drafts
from querymill_evaluation.drafting import DraftSource, Proposal
from querymill_shared.contracts.answer import AnswerHit, AnswerQuestion
from querymill_shared.contracts.errors import JobEnded, detail_of

#: Characters of a passage that are shown.
_SHOWN: Final = 700
#: What the chat model is asked. It answers in the language of the question, so each language has its own.
_ASK: Final = (
    "Write one short question that a person could ask and that only this passage answers. Write the question alone."
)
_ASK_CHINESE: Final = "请写一个简短的问题：有人可能会这样问，而只有这段文字能回答。只写问题本身。"
_HAN: Final = re.compile("[\u4e00-\u9fff]")
_CITATION: Final = re.compile(r"\s*\[\d+\]")
_ASKED: Final = re.compile(r"[^\n]{8,300}?[?？]")

#: What a person may answer.
_CHOICES: Final = {"k": "keep", "e": "edit", "d": "drop", "s": "stop"}


def draft(
    collection: Annotated[str, typer.Argument(help="the collection that the questions are about")],
    kind: Annotated[str, typer.Option(help=f"the kind of its documents: {', '.join(RETRIEVERS)}")],
    out: Annotated[
        Path | None, typer.Option(help="folder of the set (default: COLLECTION-questions); drafts in it are continued")
    ] = None,
    questions: Annotated[int, typer.Option(min=1, max=1_000, help="number of questions to propose")] = 30,
    chat: Annotated[
        bool, typer.Option("--chat", help="let the chat model of the workers write them; where it fails, rules do")
    ] = False,
) -> None:
    """Propose questions from a collection; you keep, edit or drop each. Makes a set that `querymill eval` measures.

    Questions made by rules repeat words of their document, which favours a search by words: edit them into your own.
    """
    retriever = next((retriever for retriever in RETRIEVERS if retriever == kind), None)
    if retriever is None:
        raise WrongUse(f"--kind: {kind!r} is not one of: {', '.join(RETRIEVERS)}")
    folder = Path(f"{collection}-questions") if out is None else out
    try:
        drafts = open_drafts(folder, collection, kind)
    except BadDraft as error:
        raise WrongUse(f"--out: {error}") from error
    say = Console(stderr=True)
    if len(drafts.drafts) < questions:
        source = DraftSource(kind, questions)
        with Querymill() as mill:
            documents = source.read(mill.export(retriever, collection=collection))
            if drafts.write_corpus(documents) == 0:
                (folder / "corpus.jsonl").unlink()
                raise WrongUse(f"collection: {collection!r} must hold at least one document of the kind {kind!r}")
            _propose(mill, drafts, source, questions, say, chat=chat)
    _confirm(drafts, say)
    _tell(drafts, say)


def _propose(
    mill: Querymill, drafts: DraftSet, source: DraftSource, questions: int, say: Console, *, chat: bool
) -> None:
    proposals: Iterator[Proposal] = source.proposals(known=[draft.judged for draft in drafts.drafts])
    wanted = islice(proposals, questions - len(drafts.drafts))
    drafts.propose(_by_chat(mill, drafts.collection, wanted, say) if chat else wanted)
    if len(drafts.drafts) < questions:
        say.print(f"{len(drafts.drafts)} questions proposed: the other passages say too little, or are known")


def _by_chat(mill: Querymill, collection: str, proposals: Iterable[Proposal], say: Console) -> Iterator[Proposal]:
    """Let the chat model write the questions. Where it writes none, and once it has failed, those by rules stay."""
    works = True
    for proposal in proposals:
        written = None
        if works:
            try:
                written = _written(mill, collection, proposal)
            except (JobEnded, TimeoutError) as error:
                works = False
                say.print(
                    f"the chat model failed, the questions that follow are by rules: {detail_of(error)}", style="red"
                )
            else:
                if written is None:
                    say.print(f"{proposal.judged}: by rules, the chat model wrote no question", style="dim")
        yield written or proposal


def _written(mill: Querymill, collection: str, proposal: Proposal) -> Proposal | None:
    """Return the proposal with the chat model's question, or None if its reply holds no question.

    Raises:
        JobEnded, TimeoutError: The model gave no reply.
    """
    chinese = len(_HAN.findall(proposal.passage)) * 3 > len(proposal.passage)
    hit = AnswerHit(id=proposal.judged, text=proposal.passage)
    request = AnswerQuestion(
        query=_ASK_CHINESE if chinese else _ASK, collection=collection, hits=(hit,), answer_tokens=80
    )
    answer = mill.submit(request).result(timeout=request.deadline + 10).answer
    if answer is None:
        raise TimeoutError("it wrote nothing before the deadline")
    found = _ASKED.search(_CITATION.sub("", answer.text))
    return None if found is None else replace(proposal, question=found[0].strip(), drafted_by="chat model", metadata={})


def _confirm(drafts: DraftSet, say: Console) -> None:
    """Show every proposal that is pending, and write down what the person says."""
    pending = drafts.pending
    for number, proposal in enumerate(pending, start=1):
        say.rule(f"{number} of {len(pending)}")
        say.print(f"{proposal.judged}\n", style="dim")
        say.print(proposal.passage[:_SHOWN] + (" …" if len(proposal.passage) > _SHOWN else ""))
        say.print(f"\nQuestion ({proposal.drafted_by}): {proposal.question}", style="bold")
        if not _decide(drafts, proposal, say):
            return


def _decide(drafts: DraftSet, proposal: Draft, say: Console) -> bool:
    """Ask about a proposal until the answer is understood; False if the person stops."""
    while True:
        try:
            answer = typer.prompt("keep, edit, drop or stop [k/e/d/s]", default="k", show_default=False, err=True)
            match _CHOICES.get(answer.strip().lower()[:1]):
                case "keep":
                    drafts.decide(proposal, "kept")
                case "drop":
                    drafts.decide(proposal, "dropped")
                case "edit":
                    drafts.decide(proposal, "edited", typer.prompt("question", err=True))
                case "stop":
                    return False
                case _:
                    say.print("answer k, e, d or s")
                    continue
        except typer.Abort:  # the input ended, or Ctrl-C
            return False
        except pydantic.ValidationError as error:
            say.print(f"question: {error.errors()[0]['msg']}", style="red")
            continue
        return True


def _tell(drafts: DraftSet, say: Console) -> None:
    again = f"querymill eval draft {drafts.collection} --kind {drafts.kind} --out {drafts.folder}"
    say.print(f"\n{len(drafts.kept)} questions in {drafts.folder}, {len(drafts.pending)} pending")
    if drafts.pending:
        say.print(f"go on: {again}", soft_wrap=True)
    if drafts.kept:
        say.print(f"measure: querymill eval {drafts.folder} --kind {drafts.kind}", soft_wrap=True)
