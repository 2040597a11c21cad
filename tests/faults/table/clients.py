"""The clients of a run: each asks one thing after the other, and records what it asked and saw."""

import hashlib
import random
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final
from uuid import uuid4

from querymill import (
    EmbedTexts,
    Event,
    IdempotencyConflict,
    Job,
    JobCancelled,
    JobFailed,
    Overloaded,
    Querymill,
    QuerymillError,
    Reembed,
    Reindex,
    StillRunning,
    Unavailable,
    UnknownCollection,
    UnknownJob,
)
from querymill_shared.contracts.jobs import JobRequest
from tests.fakes.vectors import vector_of
from tests.faults.histories.operations import NEVER
from tests.faults.table.library import KINDS, Document, Library, Shelf, digest_of, word_in
from tests.faults.table.recording import Countdown, Recorder

_TRIES: Final = 3
#: So many texts of a collection are stored over and over.
STORED: Final = 64


@dataclass(frozen=True)
class Ended:
    """How a job ended, as its caller saw it."""

    state: str
    result: Any = None
    code: str | None = None
    end: float = NEVER


@dataclass
class Client:
    """One client. Its chances come from the seed of the run, and its own name.

    It waits ``patience_s`` seconds for one job, or for a board that is away.
    """

    name: str
    mill: Querymill
    model: str
    chances: random.Random
    library: Library
    shelf: Shelf
    recorder: Recorder
    patience_s: float

    def work(self, countdown: Countdown) -> None:
        """Ask until nothing is left to ask."""
        deeds = [getattr(self, f"_{name}") for name in DEEDS]
        while countdown.takes_another():
            (deed,) = self.chances.choices(deeds, weights=list(DEEDS.values()))
            deed()

    def ask(self, request: JobRequest) -> Any:
        """Ask while all is well; returns the complete result, once what it left to others is done too."""
        until = time.monotonic() + self.patience_s
        while True:
            job: Job[Any] = self.mill.submit(request)
            result = job.result(timeout=self.patience_s)
            for following in getattr(result, "embedding_jobs", ()):
                self.mill.job(following).result(timeout=self.patience_s)
            if result.complete:
                return result
            if time.monotonic() > until:
                raise RuntimeError(f"{request.kind} lacks {result.degraded} without a fault")
            time.sleep(0.5)

    def put(self, document: Document) -> None:
        """Write a document with a new word."""
        request, word = self.shelf.putting(document)
        self._write(document, request, word)

    def drop(self, document: Document) -> None:
        """Drop a document."""
        self._write(document, self.shelf.dropping(document), None)

    # What clients do.

    def _put(self) -> None:
        self.put(self._any_document())

    def _drop(self) -> None:
        self.drop(self._any_document())

    def _read(self) -> None:
        self.read(self._any_document())

    def _find(self) -> None:
        if written := [document for document in self.shelf.documents if document.words]:
            document = self.chances.choice(written)
            self.find(document, self.chances.choice(document.words[-4:]))

    def _answer(self) -> None:
        number = self.chances.randrange(len(self.library.questions))
        begin, request = self.recorder.now(), self.library.questions[number]
        ended = self.run(request)
        if ended is not None and ended.state == "done":
            argument = {"question": f"{request.kind} {number}", "expected": self.library.expected[number]}
            seen = {"given": digest_of(ended.result), "complete": ended.result.complete}
            self._note("answer", begin, argument, seen)

    def _embed(self) -> None:
        begin, text = self.recorder.now(), _new_text()
        ended = self.run(self._embedding(text))
        if ended is not None and ended.state == "done":
            given = [round(number, 4) for number in ended.result.embedding("t")[:8]]
            expected = [round(float(number), 4) for number in vector_of(text)[:8]]
            self._note("answer", begin, {"question": "embed", "expected": expected}, {"given": given, "complete": True})

    def _store_vector(self) -> None:
        self.run(self._embedding(_new_text(), into="table"))

    def _reindex(self) -> None:
        self.run(Reindex(collection=self.shelf.collection, of=self._any_document().kind))

    def _reembed(self) -> None:
        # Modules of the library have no vectors.
        kind = self.chances.choice([kind for kind in KINDS if kind != "modules"])
        self.run(Reembed(collection=self.library.collection, retriever=kind, model=self.model))

    def _cancel(self) -> None:
        request, key = self._embedding(_new_text()), uuid4().hex
        if (job := self.submit(request, key)) is None:
            return
        begin = self.recorder.now()
        with suppress(QuerymillError):
            accepted = job.cancel()
            self._note("cancel", begin, {"job_id": job.id}, {"accepted": accepted})
        self.wait(job)

    def _submit_twice(self) -> None:
        request, key = self._embedding(_new_text()), uuid4().hex
        submitted = [self.submit(each, key) for each in (request, request, self._embedding("another text"))]
        # The last is refused, unless a drop has taken the first job away with its key.
        for each in {each.id: each for each in submitted if each is not None}.values():
            self.wait(each)

    def _follow(self) -> None:
        """Follow a job's events, let go, and follow again from the last event that was seen."""
        request = self.chances.choice(self.library.questions)
        if (job := self.submit(request, uuid4().hex)) is None:
            return
        last = self._follow_some(job, None, self.chances.randrange(1, 4))
        self._follow_some(job, last, None)
        self.wait(job)

    # What is checked when all is over, too.

    def read(self, document: Document) -> None:
        """Read a document, and record what it is."""
        begin = self.recorder.now()
        ended = self.run(self.shelf.showing(document))
        if ended is None or (ended.state == "failed" and ended.code != "invalid"):
            return
        if ended.state in ("done", "failed"):
            value = word_in(ended.result) if ended.state == "done" else None
            self._note("read", begin, {"document": str(document)}, {"value": value}, end=ended.end)

    def find(self, document: Document, word: str) -> None:
        """Search for a word of a document, and record what of the document is shown."""
        begin = self.recorder.now()
        ended = self.run(self.shelf.looking_for(document, word))
        if ended is not None and ended.state == "done":
            values = dict(self.shelf.words_shown(document, ended.result))
            complete = all(part.code == "pending" for part in ended.result.degraded)
            argument = {"document": str(document), "value": word}
            self._note("find", begin, argument, {"values": values, "complete": complete}, end=ended.end)

    def run(self, request: JobRequest) -> Ended | None:
        """Submit a job and wait for its end. If the board loses it, submit it again under the same key."""
        key = uuid4().hex
        for _ in range(_TRIES):
            if (job := self.submit(request, key)) is None:
                return None
            ended = self.wait(job)
            if ended.state != "unknown":
                break
        return ended

    def submit(self, request: JobRequest, key: str) -> Job[Any] | None:
        """Submit a job. Returns None if it was refused."""
        begin, until = self.recorder.now(), time.monotonic() + self.patience_s
        body = hashlib.sha256(request.model_dump_json().encode()).hexdigest()[:12]
        argument = {
            "job": request.kind, "key": key, "body": body, "durable": request.deadline is None,
            "deadline": request.deadline, "collection": getattr(request, "collection", None),
        }  # fmt: skip
        while True:
            try:
                job: Job[Any] = self.mill.submit(request, idempotency_key=key)
            except (Overloaded, UnknownCollection, IdempotencyConflict) as error:
                self._note("submit", begin, argument, {"refused": type(error).__name__})
                return None
            except Unavailable:
                if time.monotonic() > until:
                    self._note("submit", begin, argument, {"refused": "Unavailable"})
                    return None
                time.sleep(0.1)
            except Exception as error:  # noqa: BLE001  # whatever else it is, it is a defect
                self._note("submit", begin, argument, {"refused": _defect(error)})
                return None
            else:
                self._note("submit", begin, argument, {"job_id": job.id})
                return job

    def wait(self, job: Job[Any]) -> Ended:
        """Wait for the end of a job, as long as the client's patience lasts."""
        begin, until = self.recorder.now(), time.monotonic() + self.patience_s
        while True:
            try:
                ended = Ended("done", job.result(timeout=max(0.1, until - time.monotonic())))
            except JobFailed as error:
                ended = Ended("failed", error.reason, error.code)
            except UnknownJob:
                ended = Ended("unknown", trail_of(job, until=until))
            except (JobCancelled, StillRunning) as error:
                ended = Ended(_STATES[type(error)])
            except Unavailable:
                if time.monotonic() < until:
                    time.sleep(0.1)
                    continue
                ended = Ended("running")
            except Exception as error:  # noqa: BLE001  # as above
                ended = Ended(_defect(error))
            break
        ended = Ended(ended.state, ended.result, ended.code, self.recorder.now())
        self._note("end", begin, {"job_id": job.id}, _seen(ended), end=ended.end)
        return ended

    # How they do it.

    def _any_document(self) -> Document:
        return self.chances.choice(self.shelf.documents)

    def _embedding(self, text: str, **more: str) -> EmbedTexts:
        name = f"t{self.chances.randrange(STORED)}" if more else "t"
        texts = [{"id": name, "text": text}]
        return EmbedTexts.model_validate({"collection": self.shelf.collection, "texts": texts, **more})

    def _write(self, document: Document, request: JobRequest, word: str | None) -> None:
        begin = self.recorder.now()
        ended = self.run(request)
        if ended is None:
            return
        is_done = ended.state == "done"
        argument = {"document": str(document), "value": word}
        self._note("write", begin, argument, {"state": ended.state}, end=ended.end if is_done else NEVER)

    def _follow_some(self, job: Job[Any], after: str | None, most: int | None) -> str | None:
        events: list[Event] = []
        begin = self.recorder.now()
        with suppress(QuerymillError):
            events.extend(islice(job.events(after=after, timeout=self.patience_s), most))
        seen = {"ids": [event.id for event in events], "types": [event.type for event in events]}
        self._note("events", begin, {"job_id": job.id, "after": after}, seen)
        return events[-1].id if events else after

    def _note(
        self, kind: str, begin: float, argument: Mapping[str, Any], seen: Mapping[str, Any], *, end: float | None = None
    ) -> None:  # fmt: skip
        self.recorder.note(
            self.name, kind, begin, self.recorder.now() if end is None else end, argument=argument, seen=seen
        )


#: What clients do, and how often in comparison.
DEEDS: Final[Mapping[str, int]] = {
    "put": 22, "drop": 5, "read": 12, "find": 12, "answer": 25, "embed": 6, "store_vector": 4, "reindex": 1,
    "reembed": 1, "cancel": 3, "submit_twice": 3, "follow": 6,
}  # fmt: skip
_STATES: Final[Mapping[type[Exception], str]] = {JobCancelled: "cancelled", StillRunning: "running"}


def _defect(error: Exception) -> str:
    return f"defect: {type(error).__name__}: {error}"[:300]


def _seen(ended: Ended) -> dict[str, Any]:
    """Return how a job ended, with what its result lacks. Vectors follow, and no code means that nothing failed."""
    seen: dict[str, Any] = {"state": ended.state}
    if ended.state == "done":
        lacking = [part.code for part in ended.result.degraded if part.code not in (None, "pending")]
        outcomes = [
            document.outcome for document in getattr(ended.result, "documents", ()) if hasattr(document, "outcome")
        ]
        lost = [part.stage for part in ended.result.degraded if part.code == "lost"]
        return seen | {"degraded": lacking, "lost": lost, "outcomes": outcomes}
    if ended.state == "unknown":
        return seen | {"trail": ended.result}
    return seen | {"reason": ended.result, "code": ended.code} if ended.state == "failed" else seen


def trail_of(job: Job[Any], *, until: float) -> str | None:
    """Return how a job ended whose record is gone, None if nobody knows. A board that is away is asked until then."""
    while True:
        try:
            return job.trail().record.state
        except UnknownJob:
            return None
        except QuerymillError:
            if time.monotonic() > until:
                return None
            time.sleep(0.1)


def together(deeds: list[Callable[[], None]]) -> None:
    """Run deeds side by side, and wait for all. The first that fails is raised."""
    with ThreadPoolExecutor(len(deeds)) as pool:
        for running in [pool.submit(deed) for deed in deeds]:
            running.result()


def _new_text() -> str:
    """Return a text that nobody has asked for, of few different words: a cache of words is soon full of them."""
    number = uuid4().hex
    return " ".join(["a text", *(number[at : at + 2] for at in range(0, len(number), 2))])
