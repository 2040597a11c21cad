"""Write an answer from hits, and judge it: two steps that any job with hits may add.

    hits ─> answer (chat model, in parts; or quoted) ─> judge (chat model) ─> settle

A step is added once its input is on the board. The parts of an answer reach the job's readers while the model still
writes (``stream.py``). Where no chat model writes answers, or it fails, the answer is a quotation (``quoting.py``).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from querymill_shared.board import Claim, Outcome, Picture, Step
from querymill_shared.contracts.answer import (
    ANSWER,
    COMPLETION_TOKENS,
    JUDGE,
    WRITE,
    AnswerQuestion,
    Citation,
    Judgement,
    WrittenAnswer,
)
from querymill_shared.contracts.codes import OptionalCode
from querymill_shared.contracts.reports.search import ReportSearch
from querymill_shared.contracts.results import Degradation
from querymill_shared.values import value
from querymill_workers.jobs.deadline import CUT, Caller, caller_of
from querymill_workers.jobs.faults import Refused, Unavailable
from querymill_workers.jobs.in_chat import context_of, shown_turns
from querymill_workers.jobs.notes import StepNotes
from querymill_workers.jobs.stages import Laps
from querymill_workers.services.ports import AnswerPorts
from querymill_workers.services.quoting import send_quotation
from querymill_workers.services.rules.budget import PromptPassage, fitted
from querymill_workers.services.rules.quoting import Quotable
from querymill_workers.services.rules.sentences import sentences
from querymill_workers.services.stream import AnswerStream
from querymill_workers.text.languages import language_of

AnswerRequest = ReportSearch | AnswerQuestion

#: The chat model is cut this long before the deadline, in seconds: the step still has to finish, and the job to settle.
SETTLE_MARGIN_S = 0.25
#: A chat model that is away is asked once more if the job has more than this time, in seconds.
RETRY_ROOM_S = 2.0


@value
class CitableHit:
    """A hit that the answer may cite.

    ``label`` says in the prompt whose text it is, and ``matched`` is the part that the search found.
    """

    id: str | int
    text: str
    page: int | None
    title: str | None
    label: str = ""
    matched: str = ""

    @property
    def passage(self) -> PromptPassage:
        """What a prompt shows."""
        return PromptPassage(self.text, self.label, self.matched)

    @property
    def quotable(self) -> Quotable:
        """What a quotation is taken from."""
        return Quotable(self.text, self.label or self.title or "")


class AnswerNotes(StepNotes):
    """The notes of the step that writes.

    ``is_whole`` is False if the model reached its limit of tokens, or broke off with an error: ``fault``. ``cut``
    numbers the hits that the prompt had no room for as a whole, from 1. ``unwritten`` is why the chat model wrote
    nothing, and a quotation stands in.
    """

    answer: WrittenAnswer
    is_whole: bool = True
    fault: str = ""
    cut: tuple[int, ...] = ()
    unwritten: str = ""
    unwritten_code: OptionalCode = None


class JudgeNotes(StepNotes):
    """The notes of the step that judges."""

    judgement: Judgement


def next_step(picture: Picture, request: AnswerRequest, *, has_sources: bool) -> str | None:
    """Return the step to add once all steps have closed, or None if the job is to be settled."""
    steps = steps_by_name(picture)
    wants_answer = isinstance(request, AnswerQuestion) or request.answer
    if wants_answer and has_sources and ANSWER not in steps:
        return ANSWER
    answer = _read_answer(steps)
    if request.judge and JUDGE not in steps and answer is not None and not answer.quoted:
        return JUDGE
    return None


def run_step(
    claim: Claim, request: AnswerRequest, picture: Picture, sources: Sequence[CitableHit], ports: AnswerPorts
) -> Outcome:
    """Run the claimed step: write or quote the answer, or judge it.

    Raises:
        Unavailable: The chat model did not reply in time, or no time is left for a call.
        Refused: The hits no longer exist, or another call would not help.
    """
    if not sources:
        raise Refused("the hits no longer exist: their reports were replaced", code="pending")
    if claim.step == ANSWER and not ports.answers.writes:
        return quote_answer(claim, request, sources, ports)
    budget = ports.answers.passage_tokens if request.passage_tokens is None else request.passage_tokens
    fits = fitted([source.passage for source in sources], max_tokens=budget)
    passages = [passage.text for passage in fits]
    if claim.step == JUDGE:
        answer = AnswerNotes.of(steps_by_name(picture)[ANSWER]).answer
        return judge_answer(claim, request, answer, passages, ports)
    cut = tuple(number for number, passage in enumerate(fits, start=1) if passage.is_cut)
    try:
        return write_answer(claim, request, sources, passages, ports, cut=cut)
    except Refused as error:
        return quote_answer(claim, request, sources, ports, instead=error)
    except Unavailable as error:
        if claim.attempt == 1 and (claim.expires_at is None or claim.expires_at - ports.clock() > RETRY_ROOM_S):
            raise
        return quote_answer(claim, request, sources, ports, instead=error)


def quote_answer(
    claim: Claim,
    request: AnswerRequest,
    sources: Sequence[CitableHit],
    ports: AnswerPorts,
    *,
    instead: Refused | Unavailable | None = None,
) -> Outcome:
    """Quote the hits, and send the quotation like an answer. ``instead`` is why the chat model wrote none."""
    laps, stream, language = Laps(ports), AnswerStream(claim, len(sources), ports), language_of(request.query)
    text = send_quotation(
        context_of(request).meaning,
        [source.quotable for source in sources],
        stream,
        language=language,
        max_tokens=request.answer_tokens,
    )
    laps.lap("quote")
    answer = WrittenAnswer(
        text=text,
        citations=tuple(citation_of(number, sources) for number in stream.check.cited),
        language=language,
        passages=len(sources),
        quoted=True,
    )
    notes = AnswerNotes(
        answer=answer,
        unwritten="" if instead is None else str(instead),
        unwritten_code=None if instead is None else instead.code,
        timing=stream.timing | laps.ms,
    )
    return Outcome(notes=notes.for_board(), ms=laps.total_ms, parts=laps.parts)


def write_answer(
    claim: Claim,
    request: AnswerRequest,
    sources: Sequence[CitableHit],
    passages: Sequence[str],
    ports: AnswerPorts,
    *,
    cut: tuple[int, ...] = (),
) -> Outcome:
    """Have the chat model write the answer, send its parts, and return the answer with its citations."""
    laps, stream = Laps(ports), AnswerStream(claim, len(passages), ports)
    language = language_of(request.query)
    reply = ports.answers.write(
        request.query,
        passages,
        language=language,
        max_tokens=request.answer_tokens,
        caller=caller_for_chat(claim, request, ports),
        hear=stream.hear,
        said=shown_turns(request),
    )
    text = stream.end()
    if not text:
        raise Refused("chat model: the answer cited only passages that do not exist", code="provider_refused")
    laps.lap("write")
    answer = WrittenAnswer(
        text=text,
        citations=tuple(citation_of(number, sources) for number in stream.check.cited),
        removed_citations=stream.check.removed,
        language=language,
        passages=len(passages),
    )
    known = {} if reply.completion_tokens is None else {COMPLETION_TOKENS: reply.completion_tokens}
    usage = reply.usage.noted() | known
    notes = AnswerNotes(
        answer=answer,
        is_whole=reply.is_whole,
        fault=reply.fault,
        cut=cut,
        timing=stream.timing | laps.ms,
        usage=usage,
    )
    return Outcome(notes=notes.for_board(), ms=laps.total_ms, parts=laps.parts)


def judge_answer(
    claim: Claim, request: AnswerRequest, answer: WrittenAnswer, passages: Sequence[str], ports: AnswerPorts
) -> Outcome:
    """Have the chat model judge the answer. Numbers of sentences that the answer does not have are dropped."""
    laps = Laps(ports)
    said = sentences(answer.text)
    judgement, usage = ports.answers.judge(
        request.query,
        passages,
        said,
        language=language_of(request.query),
        caller=caller_for_chat(claim, request, ports),
        said=shown_turns(request),
    )
    laps.lap("judge")
    numbers = dict.fromkeys(number for number in judgement.unsupported if 1 <= number <= len(said))
    shown = Judgement(
        grounded=judgement.grounded,
        relevant=judgement.relevant,
        complete=judgement.complete,
        unsupported=tuple(said[number - 1] for number in numbers),
    )
    notes = JudgeNotes(judgement=shown, timing=laps.ms, usage=usage.noted())
    return Outcome(notes=notes.for_board(), ms=laps.total_ms, parts=laps.parts)


def caller_for_chat(claim: Claim, request: AnswerRequest, ports: AnswerPorts) -> Caller:
    """Return the caller of the chat model, and until when it may wait.

    Raises:
        Unavailable: No time is left for a call.
    """
    return caller_of(claim, request, ports, margin_s=SETTLE_MARGIN_S, what="the chat model")


@value
class WrittenSoFar:
    """What the steps that write and judge left on the board.

    ``missing`` names what was asked for and never began, and an answer that was cut; for failed and open steps see
    `jobs.stages.missing`. ``timing`` is when they were finished, in milliseconds since submission.
    """

    answer: WrittenAnswer | None
    missing: tuple[Degradation, ...]
    timing: dict[str, float]


def read_written(picture: Picture, request: AnswerRequest, *, has_sources: bool) -> WrittenSoFar:
    """Read the answer from the board, with what is missing of it."""
    steps = steps_by_name(picture)
    answer = _read_answer(steps)
    finished = {
        f"{name}_ms": round((step.ended - picture.record.created) * 1000, 1)
        for name, step in steps.items()
        if name in (ANSWER, JUDGE) and step.ended is not None
    }
    return WrittenSoFar(answer, tuple(_missing(steps, answer, request, has_sources=has_sources)), finished)


def _read_answer(steps: Mapping[str, Step]) -> WrittenAnswer | None:
    """Return the answer with its judgement if there is one, or None if there is no answer."""
    if ANSWER not in steps or steps[ANSWER].state != "done":
        return None
    answer = AnswerNotes.of(steps[ANSWER]).answer
    if JUDGE not in steps or steps[JUDGE].state != "done":
        return answer
    return answer.model_copy(update={"judgement": JudgeNotes.of(steps[JUDGE]).judgement})


NO_HIT: Final = Degradation(stage=ANSWER, reason="there is no hit to answer from")
NO_ANSWER: Final = Degradation(stage=JUDGE, reason="there is no answer to judge")
NOT_JUDGED: Final = Degradation(stage=JUDGE, reason="a quotation is not judged: it says what the hits say")


def _missing(
    steps: Mapping[str, Step], answer: WrittenAnswer | None, request: AnswerRequest, *, has_sources: bool
) -> Iterator[Degradation]:
    """Name what was asked for and never began, and an answer that was cut."""
    if (isinstance(request, AnswerQuestion) or request.answer) and ANSWER not in steps:
        yield Degradation(stage=ANSWER, reason=CUT, code="deadline") if has_sources else NO_HIT
    if ANSWER in steps and steps[ANSWER].state == "done":
        yield from _shortened(AnswerNotes.of(steps[ANSWER]), request)
    if request.judge and JUDGE not in steps:
        late = Degradation(stage=JUDGE, reason=CUT, code="deadline")
        yield NO_ANSWER if answer is None else NOT_JUDGED if answer.quoted else late


def _shortened(notes: AnswerNotes, request: AnswerRequest) -> Iterator[Degradation]:
    """Name what was left out of an answer, and of what it was written from, or why it was not written."""
    if notes.unwritten:
        reason = f"the answer is a quotation: {notes.unwritten}"
        yield Degradation(stage=WRITE, reason=reason, code=notes.unwritten_code)
    if notes.fault:
        reason = f"chat model: the reply broke off, and what had come is kept: {notes.fault}"
        yield Degradation(stage=ANSWER, reason=reason, code="cut")
    elif not notes.is_whole:
        yield Degradation(stage=ANSWER, reason=f"cut at {request.answer_tokens} tokens (answer_tokens)", code="cut")
    if notes.cut:
        numbers = ", ".join(map(str, notes.cut))
        yield Degradation(
            stage=ANSWER, reason=f"hits that the prompt shows in part (passage_tokens): {numbers}", code="cut"
        )


def citation_of(number: int, sources: Sequence[CitableHit]) -> Citation:
    """Return the citation of a number in the answer, which counts the hits from 1."""
    source = sources[number - 1]
    return Citation(number=number, id=source.id, page=source.page, title=source.title)


def steps_by_name(picture: Picture) -> dict[str, Step]:
    """Return the steps of a job by name."""
    return {step.name: step for step in picture.steps}
