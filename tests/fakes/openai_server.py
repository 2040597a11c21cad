"""A programmable OpenAI-compatible server: real HTTP, scripted answers.

A test says what each request gets: a latency, a status, headers, or bytes that are no answer at all.
"""

import json
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from typing import Any, Literal

from querymill_workers.inference.http_judge import PLAIN_PASSAGES
from querymill_workers.inference.prompts import turns
from tests.fakes.vectors import vector_of

METHODS = ("hyde", "synonym", "subquestion", "variant")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a request gets: ``body`` after ``after_s`` seconds, or a connection that is reset, or cut half way."""

    body: bytes
    status: int = 200
    after_s: float = 0.0
    headers: dict[str, str] = field(default_factory=dict)
    ends: Literal["well", "reset", "cut"] = "well"
    #: Instead of a body: events sent one by one, so many seconds apart; "cut" then ends the connection after them.
    events: Sequence[bytes] = ()
    apart_s: float = 0.0
    #: Called before each event with the number of those sent; the event waits until it returns.
    gate: Callable[[int], object] = lambda sent: None


def chat_answer(content: object, *, after_s: float = 0.0) -> Answer:
    """Answer a chat request with this content."""
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}}
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    reply = {
        "id": "c",
        "object": "chat.completion",
        "created": 0,
        "model": "m",
        "choices": [choice],
        "usage": usage,
    }
    return Answer(json.dumps(reply).encode(), after_s=after_s)


def chat_stream(
    *parts: str, after_s: float = 0.0, apart_s: float = 0.0, ends: Literal["well", "cut"] = "well",
    finish: str | None = "stop", gate: Callable[[int], object] = lambda sent: None,
) -> Answer:  # fmt: skip
    """Answer a chat request that asks for a stream with these parts; one that is cut has no end."""
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}, *({"content": part} for part in parts)]
    chunks = [_chunk([{"index": 0, "delta": delta, "finish_reason": None}]) for delta in deltas]
    # The role comes with the first part: between parts there is time, not before them.
    chunks[:2] = [b"".join(chunks[:2])]
    if ends == "well":
        if finish is not None:
            chunks.append(_chunk([{"index": 0, "delta": {}, "finish_reason": finish}]))
        usage = {"prompt_tokens": 10, "completion_tokens": len(parts), "total_tokens": 10 + len(parts)}
        chunks += [_chunk([], usage=usage), b"data: [DONE]\n\n"]
    headers = {"Content-Type": "text/event-stream"}
    return Answer(b"", after_s=after_s, headers=headers, ends=ends, events=chunks, apart_s=apart_s, gate=gate)


def _chunk(choices: list[dict[str, Any]], **more: Any) -> bytes:
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "m", "choices": choices} | more
    return f"data: {json.dumps(chunk)}\n\n".encode()


def embedding_answer(vectors: list[list[float]], *, after_s: float = 0.0) -> Answer:
    """Answer an embedding request with these vectors."""
    items = [{"object": "embedding", "index": i, "embedding": vector} for i, vector in enumerate(vectors)]
    usage = {"prompt_tokens": len(items), "total_tokens": len(items)}
    reply = {"object": "list", "model": "m", "data": items, "usage": usage}
    return Answer(json.dumps(reply).encode(), after_s=after_s)


def embedded(request: dict[str, Any]) -> Answer:
    """Embed honestly: by the words of each text."""
    return embedding_answer([vector_of(text).tolist() for text in request["input"]])


def ill(word: str, answer: Answer) -> Callable[[dict[str, Any]], Answer]:
    """Embed honestly, but answer every request that has a word in one of its texts like this."""
    return lambda request: answer if any(word in text for text in request["input"]) else embedded(request)


def refusing(
    names: Sequence[str], script: Callable[[dict[str, Any]], Answer], *, form: Literal["openai", "pydantic"] = "openai"
) -> Callable[[dict[str, Any]], Answer]:
    """Answer as scripted, but refuse a request that has one of these parameters, or a response format of this type."""

    def answer(request: dict[str, Any]) -> Answer:
        formats = {request["response_format"]["type"]} if "response_format" in request else set()
        for name in names:
            if name in formats:
                return rejection({"message": "This response_format type is unavailable now", "param": None})
            if name in request and form == "openai":
                return rejection({"message": f"Unsupported parameter: '{name}' is not supported.", "param": name})
            if name in request:
                detail = {"type": "extra_forbidden", "loc": ["body", name], "msg": "Extra inputs are not permitted"}
                return Answer(json.dumps({"detail": [detail]}).encode(), status=422)
        return script(request)

    return answer


def rejection(error: object, *, status: int = 400) -> Answer:
    """Answer with an error as OpenAI writes it."""
    return Answer(json.dumps({"error": error}).encode(), status=status)


def held(opened: threading.Event, script: Callable[[dict[str, Any]], Answer]) -> Callable[[dict[str, Any]], Answer]:
    """Answer as scripted, but not before something has happened. In vain it waits for a minute."""

    def wait(request: dict[str, Any]) -> Answer:
        opened.wait(60)
        return script(request)

    return wait


def method_of(request: dict[str, Any]) -> str:
    """Tell which expansion a chat request asks for, by its system turn."""
    system = request["messages"][0]["content"]
    for method in METHODS:
        for question in ("x", "中"):
            if turns(method, question, {})[0]["content"] == system:
                return method
    raise ValueError("not one of our prompts")


def reworded(request: dict[str, Any]) -> Answer:
    """Reword by method: always the same one new query."""
    method = method_of(request)
    return chat_answer("| revenue | 10 |" if method == "hyde" else f"<a question by {method}>")


def stream_events(handler: BaseHTTPRequestHandler, answer: Answer) -> bool:
    """Send the events one by one; whether somebody listened to the last."""
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    handler.close_connection = answer.ends != "well"
    try:
        for sent, event in enumerate(answer.events):
            answer.gate(sent)
            handler.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
            handler.wfile.flush()
            time.sleep(answer.apart_s)
        handler.wfile.write(b"0\r\n\r\n" if answer.ends == "well" else b"")
        handler.wfile.flush()
    except OSError:
        # Nobody listens any more: what is left in the buffer must not be sent, either.
        handler.wfile = BytesIO()
        handler.close_connection = True
        return False
    return True


@dataclass
class Script:
    """What the server does; a test may change it while the server runs."""

    chat: Callable[[dict[str, Any]], Answer] = reworded
    embeddings: Callable[[dict[str, Any]], Answer] = embedded
    rerank: Callable[[dict[str, Any]], Answer] = lambda request: Answer(b"{}", status=404)
    #: Whether harmless requests are answered by the functions above. Else each gets what the last request got: a server
    #: that fails, fails for everything.
    is_well: bool = False


def is_harmless(request: dict[str, Any]) -> bool:
    """Tell the requests by which workers see whether a server is well, and what its scores mean."""
    turns_ = request.get("messages") or [{}]
    said = request.get("input") or request.get("documents") or request.get("texts") or [turns_[-1].get("content")]
    return said in (["hello"], ["Say hello."], list(PLAIN_PASSAGES))


class _Http(ThreadingHTTPServer):
    #: With five, as by default, connections of a fleet that calls all at once are reset now and then.
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a client that was killed or cut off in the middle of a request."""
        if not isinstance(sys.exception(), OSError | json.JSONDecodeError):
            super().handle_error(request, client_address)


class OpenAIServer:
    """The server, its script, what it saw as (path, body), and how many streams were heard to their end.

    Harmless requests are in ``probes``, all others in ``requests``.
    """

    def __init__(self, place: tuple[str, int] = ("127.0.0.1", 0)) -> None:
        self.script = Script()
        self.requests: list[tuple[str, dict[str, Any]]] = []
        self.probes: list[tuple[str, dict[str, Any]]] = []
        self.streamed_whole = 0
        self._last: dict[str, Answer] = {}
        self._http = _Http(place, self._handler())
        self._http.daemon_threads = True

    def reset(self) -> None:
        """Forget the requests and the script."""
        self.script = Script()
        self.requests = []
        self.probes = []
        self.streamed_whole = 0
        self._last = {}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def seen(self, path: str) -> list[dict[str, Any]]:
        """List the bodies of the requests to a path, such as "embeddings"."""
        return [body for seen_path, body in self.requests if seen_path.endswith(path)]

    def answer(self, path: str, request: dict[str, Any]) -> Answer:
        harmless = is_harmless(request)
        (self.probes if harmless else self.requests).append((path, request))
        if harmless and not self.script.is_well and path in self._last:
            return self._last[path]
        if path.endswith("/rerank"):
            answer = self.script.rerank(request)
        else:
            answer = self.script.chat(request) if path.endswith("completions") else self.script.embeddings(request)
        self._last[path] = answer
        return answer

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True
            wbufsize = 65536

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                pass

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                answer = server.answer(self.path, json.loads(body))
                time.sleep(answer.after_s)
                if answer.ends == "reset":
                    self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    self.connection.close()
                    self.close_connection = True
                    return
                self.send_response(answer.status)
                headers = {"Content-Type": "application/json"} | answer.headers
                for name, value in headers.items():
                    self.send_header(name, value)
                if answer.events:
                    server.streamed_whole += stream_events(self, answer)
                    return
                self.send_header("Content-Length", str(len(answer.body)))
                self.end_headers()
                try:
                    half = len(answer.body) // 2 if answer.ends == "cut" else len(answer.body)
                    self.wfile.write(answer.body[:half])
                    self.wfile.flush()
                    self.close_connection = answer.ends == "cut"
                except OSError:
                    self.close_connection = True  # the client gave up waiting

        return Handler

    @contextmanager
    def running(self) -> Iterator["OpenAIServer"]:
        thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._http.shutdown()
            self._http.server_close()
            thread.join()
