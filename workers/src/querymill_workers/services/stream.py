"""The stream of an answer: its parts, sent to the job's readers as the chat model writes them.

A part says where in the answer it starts, so the first part of a later attempt replaces all that an earlier one sent.
"""

from querymill_shared.board import Claim
from querymill_shared.contracts.events import AnswerPart
from querymill_workers.jobs.ports import Common
from querymill_workers.services.rules.citations import CitationCheck

#: A part is sent at most this often, in seconds, and holds at least this share of the text sent before it: the board
#: keeps a thousand events of a job, and a long answer must not push out its own beginning.
TELL_EVERY_S = 0.1
TELL_SHARE = 0.01


class AnswerStream:
    """Collects the parts of an answer, checks their citations, and sends them under a claim."""

    def __init__(self, claim: Claim, passages: int, ports: Common) -> None:
        self.check = CitationCheck(passages)
        self.timing: dict[str, float] = {}
        self._claim = claim
        self._ports = ports
        self._begun = ports.clock()
        self._told_at: float | None = None
        self._ready = ""
        self._text = ""
        if claim.attempt > 1:
            self._tell()  # at offset 0: it replaces what an earlier attempt has sent

    def hear(self, part: str) -> bool:
        """Take a part from the chat model. Return False if the job is over, or if another attempt holds the step."""
        self._ready += self.check.feed(part)
        now = self._ports.clock()
        if not self._ready or not self._is_time(now):
            return True
        if not self._text:
            self.timing["first_part"] = round((now - self._begun) * 1000, 2)
        self._told_at = now
        return self._tell()

    def _is_time(self, now: float) -> bool:
        is_long_ago = self._told_at is None or now - self._told_at >= TELL_EVERY_S
        return is_long_ago and len(self._ready) >= TELL_SHARE * len(self._text)

    def end(self) -> str:
        """Send the rest, and return the whole answer."""
        self._ready += self.check.end()
        if self._ready:
            self._tell()
        return self._text

    def _tell(self) -> bool:
        part = AnswerPart(stage=self._claim.step, attempt=self._claim.attempt, offset=len(self._text), text=self._ready)
        self._text += self._ready
        self._ready = ""
        return self._ports.board.append_event(self._claim.job_id, part, held=self._claim)
