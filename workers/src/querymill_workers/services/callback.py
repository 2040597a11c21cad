"""The `tell_caller` kind: tell a caller's address, by a signed POST, that a job has ended.

It is told at least once: a worker that dies between the answer and its note of it leaves the step to another, which
sends the same message under the same id. What an address does not accept is sent again, ever later.
"""

import random
from typing import Final

from querymill_shared.board import Claim, Picture
from querymill_shared.contracts.callbacks import TellCaller, ToldCaller
from querymill_shared.webhooks import signed
from querymill_workers.jobs.faults import Refused, Unavailable
from querymill_workers.jobs.notes import Notes
from querymill_workers.jobs.one_step import Ending, hand_in
from querymill_workers.services.ports import Answered, CallbackPorts
from querymill_workers.services.rules.callbacks import is_accepted, outcome_of, wait_s, wants_no_more


class ToldNotes(Notes):
    """The status with which the address accepted the message."""

    status: int


class NotAccepted(Unavailable):
    """The address did not accept a message. It is sent again later, as long as the job has patience."""

    code = "provider_down"


def step(claim: Claim, request: TellCaller, ports: CallbackPorts) -> None:
    """Send the message once.

    Raises:
        NotAccepted: The address did not accept it.
        Refused: The address wants no more messages, or the API key of the caller is revoked.
    """
    body = request.message.model_dump_json().encode()
    owner = ports.board.picture(claim.job_id).record.owner
    secrets = ports.callback_secrets.valid(owner)
    if not secrets:
        raise Refused("no secret signs for its caller: the API key is revoked, or has no callback secret")
    headers = signed(request.message.id, ports.callback_secrets.now(), body, secrets)
    answered = ports.caller.tell(request.url, headers, body)
    ports.count(f"callback_calls/{outcome_of(answered.status)}", 1)
    if wants_no_more(answered.status):
        raise Refused(f"{answered.said}: the address wants no more", code="provider_refused")
    if not is_accepted(answered.status):
        raise put_off(answered, claim)
    hand_in(claim, request, ToldNotes(status=answered.status), ENDING, ports)


def put_off(answered: Answered, claim: Claim) -> Unavailable:
    """Return what puts a message off that was not accepted."""
    wait = wait_s(claim.counts.outages, answered.retry_after_s, chance=random.random())  # noqa: S311  # no secret
    return NotAccepted(answered.said, again_in_s=wait, code="provider_refused" if answered.status else "provider_down")


def to_result(request: TellCaller, picture: Picture, notes: ToldNotes) -> ToldCaller:
    """Build the result."""
    return ToldCaller(
        job_id=picture.record.job_id,
        collection=request.collection,
        message_id=request.message.id,
        total=1,
        complete=True,
        status=notes.status,
    )


ENDING: Final = Ending(ToldNotes, to_result)
