"""The process that reads files, with a parser that a text has taken over: it does what the text names, and tells it."""

import json
import os
import resource
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from querymill_reading import child
from querymill_reading.document import Document, Page
from querymill_reading.formats import BY_SUFFIX, DocumentFormat
from querymill_reading.read_request import ReadRequest

#: What no parser does, with a target.
ATTACKS: Final[Mapping[str, Callable[[str], Any]]] = {
    "connect": lambda port: socket.create_connection(("127.0.0.1", int(port)), timeout=5),
    "pair": lambda _: socket.socketpair(),
    "read": lambda path: Path(path).read_text(encoding="utf-8"),
    "list": lambda path: list(Path(path).iterdir()),
    "write": lambda path: Path(path).write_text("was here", encoding="utf-8"),
    "remove": lambda path: Path(path).unlink(),
    "fork": lambda _: os.fork() or os._exit(0),
    "run": lambda program: subprocess.run([program], check=True),
    "signal": lambda _: os.kill(os.getppid(), 0),
    "look into its caller": lambda _: Path(f"/proc/{os.getppid()}/environ").read_bytes(),
    "allocate": lambda size: len(bytearray(int(size))),
    "fill the disk": lambda size: Path("large").write_bytes(bytes(int(size))),
    "talk": lambda size: "x" * int(size),
    "shout": lambda size: os.write(3, bytes(int(size))),  # where answers go
    "time": lambda _: resource.getrlimit(resource.RLIMIT_CPU)[0],
}


class TakenOver(DocumentFormat):
    """A format whose parser does what a file says."""

    def read(self, asked: ReadRequest) -> Document:
        name, target = json.loads(asked.path.read_text(encoding="utf-8"))
        return Document(self.name, [Page(1, f"done: {ATTACKS[name](target)}")])


if __name__ == "__main__":
    del sys.argv[1:-1]  # how the module is run otherwise
    BY_SUFFIX[".txt"] = TakenOver("text", (".txt",))
    child.main()
