"""A judged set of chats, written for this project: two people who plan a trip, and a channel where many talk."""

from functools import cache
from typing import Any, Final

from querymill_shared.contracts.messages.ingest import IngestMessages
from querymill_shared.contracts.messages.search import MessageResult, MessageSearch
from querymill_shared.contracts.sessions import ChatSession
from tests.fixtures.world import World, new_world

#: A chat of two. Answers often lack the words of the question before them.
TRIP: Final = """
Ada: I am planning the sailing trip for August
Bo: Great, where does the boat lie?
Ada: In the old harbour of Split, berth twelve
Bo: And who else comes along?
Ada: Mira and her brother
Bo: Does he sail?
Ada: He has a licence since last year
Bo: My passport has run out, by the way
Ada: Then go to the office on Monday, it takes three weeks
Bo: What does the charter cost?
Ada: Nineteen hundred for the week, paid in advance
Bo: I sent you my half this morning
Ada: Thanks, it arrived
Bo: I bought a new jacket, the red one
Ada: Did you get over that cold of yours?
Bo: Nearly, the doctor gave me something for the cough
Ada: My sister had her baby yesterday!
Bo: Congratulations! What is it called?
Ada: Juno, three and a half kilos
Bo: What a name
"""
#: A channel of several people and several threads. Replies begin with a name.
CHANNEL: Final = """
kim: how do I mount an encrypted disk at boot
lee: anyone else with a broken sound card since the update?
max: the weather here is awful
ann: which editor has good spell checking
kim: it is a usb drive
ola: kim: write it into crypttab and fstab
lee: mine is silent, no errors in the log
max: ann: try the one with the purple icon
ray: lee: remove the old driver, then reload the module
kim: ola: thanks, now it asks for a password
ola: kim: put the key into a file that only root reads
ann: max: too slow for me
pia: my printer prints empty pages
lee: ray: reloading did it, sound is back
ray: pia: clean the nozzles first
ann: what is the time in Tokyo
pia: ray: no ink at all, how silly
max: ann: nine hours ahead of you
"""

#: Session, question, the places of the messages that answer it, from 0.
QUESTIONS: Final[list[tuple[str, str, set[int]]]] = [
    ("trip", "where does the boat lie", {2}),
    ("trip", "who comes along on the trip", {4}),
    ("trip", "what does the charter cost", {10}),
    ("trip", "is the passport valid", {7, 8}),
    ("trip", "what is the name of the baby", {16, 18}),
    ("trip", "how is Bo's cough", {15}),
    ("trip", "colour of the jacket", {13}),
    ("trip", "can the brother of Mira sail", {6}),
    ("trip", "did the money arrive", {12}),
    ("channel", "mount an encrypted disk at boot", {5, 10}),
    ("channel", "broken sound card", {8, 13}),
    ("channel", "editor with spell checking", {7}),
    ("channel", "printer prints empty pages", {14, 16}),
    ("channel", "time in Tokyo", {17}),
    ("channel", "password for the drive", {9, 10}),
]
#: Questions that nothing can answer, since they say nothing.
EMPTY: Final = (".", "?!", "😀🎉", "…")
#: The place of a message of the channel, and those that answer its author directly.
ANSWERS: Final[list[tuple[int, set[int]]]] = [(3, {7}), (9, {10}), (12, {14}), (15, {17})]
SESSIONS: Final = {"trip": TRIP, "channel": CHANNEL}


def lines_of(talk: str) -> list[tuple[str, str]]:
    """Return who said what."""
    return [(speaker, text) for speaker, _, text in (line.partition(": ") for line in talk.strip().splitlines())]


def session_of(name: str) -> ChatSession:
    """Return a chat in the form that is ingested."""
    messages = [
        {
            "message_id": f"{name}-{place}",
            "text": text,
            "user_name": speaker,
            "created_at": f"2026-03-01T10:{place:02}:00Z",
        }
        for place, (speaker, text) in enumerate(lines_of(SESSIONS[name]))
    ]
    return ChatSession.model_validate({"session_id": name, "started_at": "2026-03-01T10:00:00Z", "messages": messages})


@cache
def load() -> World:
    """Return a world with both chats."""
    world = new_world()
    for name in SESSIONS:
        world.run(IngestMessages(collection="chats", documents=(session_of(name),)))
    return world


def found(query: str, **fields: Any) -> list[str]:
    """Search at the defaults, and return the ids of the messages."""
    request = MessageSearch.model_validate({"collection": "chats", "query": query, "limit": 10} | fields)
    world = load()
    result = world.result(world.run(request))
    assert isinstance(result, MessageResult)
    return [str(hit.message_id) for hit in result.results]
