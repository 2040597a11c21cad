"""The process that reads files: what a hostile file costs is this process, and nothing else.

It reads requests from its standard input, a line of JSON each, and answers on its standard output: first a line that
names the walls around it, then for each request a line for each page that it begins, and one with the document or the
reason why there is none. The files lie in a folder of its own, where its caller puts them.
"""

import hashlib
import json
import os
import sys
import unicodedata
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO, Final

from querymill_reading.archives import unpack
from querymill_reading.document import Document, Page, ReadLimits, Remark, Unreadable, reason_of
from querymill_reading.formats import BY_NAME
from querymill_reading.ocr import Ocr
from querymill_reading.read_request import ReadRequest
from querymill_reading.recognising import recognise
from querymill_reading.sandbox import bound_time, enter

#: What to do where an engine is missing. No package index has this distribution.
INSTALL_HINT: Final = "in a checkout of Querymill, run pip install './producers/reading[engines]'"
#: Remarks about one document.
MAX_REMARKS: Final = 1_000


def main() -> None:
    """Answer requests until there are no more."""
    given = json.loads(sys.argv[1])
    limits, folder = ReadLimits(**given["limits"]), Path(given["folder"])
    ocr = Ocr(**given["ocr"]) if given["ocr"] else None
    answers = _private_output()
    os.chdir(folder)
    _write(answers, {"walls": enter(folder, limits, ocr)})
    for line in sys.stdin.buffer:
        bound_time(limits.seconds + (limits.ocr_seconds if ocr else 0))
        request = json.loads(line)
        answer = _answered(request, limits, answers)
        _write(answers, answer)
        if "exhausted" in answer:
            break  # what is left of the memory is not enough for the next file


def _private_output() -> BinaryIO:
    """Keep the pipe for answers; what libraries print must not stand between them."""
    private = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    return private


def _answered(request: Mapping[str, Any], limits: ReadLimits, answers: BinaryIO) -> dict[str, Any]:
    reached = [0]
    lost: dict[int, str] = dict(request.get("lost", ()))

    def on_page(number: int) -> None:
        if number in lost:
            raise Unreadable(lost[number], number)
        reached[0] = number
        _write(answers, {"page": number})

    try:
        return _done(request, limits, on_page)
    except Unreadable as error:
        return {"unreadable": error.reason, "page": error.page}
    except MemoryError:
        reason = f"needs more than {limits.memory_bytes >> 20} MB of memory"
        return {"unreadable": reason, "page": reached[0], "exhausted": True}
    except ImportError as error:
        return {"unreadable": f"{error.name} is not installed; {INSTALL_HINT}", "page": 0, "missing": True}
    except Exception as error:  # noqa: BLE001  # whatever an engine raises costs this file only
        return {"unreadable": reason_of(error), "page": reached[0]}


def _done(request: Mapping[str, Any], limits: ReadLimits, on_page: Any) -> dict[str, Any]:
    if "unpack" in request:
        members = unpack(Path(request["path"]), Path(request["into"]), limits)
        return {"members": [[str(path), why] for path, why in members]}
    if "draw" in request:
        return {"picture": b64encode(draw(request, limits)).decode()}
    return {"document": read(request, limits, on_page).as_json()}


def read(request: Mapping[str, Any], limits: ReadLimits, on_page: Any) -> Document:
    """Read one file.

    Raises:
        Unreadable: It gives no document.
    """
    path, name = Path(request["path"]), request["name"]
    given = request.get("format")
    format_ = BY_NAME[given] if given else recognise(path, name, limits)
    ocr = Ocr(**request["ocr"]) if request.get("ocr") else None
    asked = ReadRequest(path, name, limits, request.get("password"), on_page, ocr)
    return bounded(format_.read(asked), limits)


def draw(request: Mapping[str, Any], limits: ReadLimits) -> bytes:
    """Draw a page of a PDF file whose content has the hash that was asked for.

    Raises:
        Unreadable: The file is another by now, or there is no such page.
    """
    # Imported here: only this process imports engines, and only when it needs them.
    from querymill_reading.formats import pdf

    with Path(request["path"]).open("rb") as file:
        content = file.read(limits.file_bytes + 1)
    # What is drawn is what was hashed, whatever happens to the file meanwhile.
    if hashlib.sha256(content).hexdigest() != request["sha256"]:
        raise Unreadable("the file has changed")
    return pdf.draw(content, request["draw"])


def bounded(document: Document, limits: ReadLimits) -> Document:
    """Return a document with storable text and without empty pages.

    Raises:
        Unreadable: It has no text, too many pages, or too much text.
    """
    if len(document.pages) > limits.pages:
        raise Unreadable(f"{len(document.pages)} pages, at most {limits.pages} are read")
    pages = [Page(page.number, storable(page.text), page.label) for page in document.pages if page.text.strip()]
    if not pages:
        reasons = "; ".join(map(str, document.remarks[:3]))
        raise Unreadable(f"no text in it{f': {reasons}' if reasons else ''}")
    characters = 0
    for page in pages:
        characters += len(page.text)
        if characters > limits.characters:
            raise Unreadable(f"more than {limits.characters} characters", page.number)
    remarks = [
        replace(remark, reason=storable(remark.reason), place=storable(remark.place))
        for remark in document.remarks[:MAX_REMARKS]
    ]
    if (more := len(document.remarks) - MAX_REMARKS) > 0:
        remarks.append(Remark(f"and {more} more remarks", count=more))
    return Document(document.format, pages, document.proposed, document.metadata, remarks)


_LIGATURES: Final = {code: unicodedata.normalize("NFKC", chr(code)) for code in range(0xFB00, 0xFB07)} | {0: " "}


def storable(text: str) -> str:
    """Return a text without what a store cannot hold (NUL, half surrogate pairs) or no search finds (ligatures)."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").translate(_LIGATURES)


def _write(answers: BinaryIO, answer: Mapping[str, Any]) -> None:
    answers.write(json.dumps(answer, ensure_ascii=True, default=str).encode() + b"\n")
    answers.flush()


if __name__ == "__main__":
    main()
