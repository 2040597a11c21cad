"""Build the sets natural_messages, natural_conversations and natural_reports from git mirrors.

    python -m tests.quality.natural.build_talk --mirrors MIRRORS --out SETS

``sources_talk.json`` beside this file says which files of which commits are taken, ``questions/*.jsonl`` holds the
questions with their gold. A mirror of ``owner/name`` is the bare repository ``MIRRORS/owner+name/repo``. Nothing is
written for a set if a gold id of it is not in its corpus.
"""

import argparse
import gzip
import html
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath
from typing import Any

HERE = Path(__file__).resolve().parent
#: The longest text of a message and of a session, as in the set dev_sessions.
MAX_MESSAGE_CHARS, MAX_SESSION_CHARS = 4_000, 60_000
#: A file of a manual that is longer than this becomes several pages, each of sections of together about this length.
PAGE_CHARS = 3_500
#: Files of a manual with less text than this are stubs.
MIN_PAGE_CHARS = 250

Line = dict[str, Any]


# --- git -----------------------------------------------------------------------------------------------------------


def git(mirror: Path, *arguments: str) -> str:
    """Return what git prints."""
    command = ["git", f"--git-dir={mirror}", *arguments]
    return subprocess.run(command, check=True, capture_output=True).stdout.decode("utf-8", "replace")


def files_of(mirrors: Path, source: Line) -> Iterator[tuple[str, str]]:
    """Yield path and text of the files that a source takes, in the order of their paths."""
    mirror = mirrors / source["repository"].replace("/", "+") / "repo"
    paths = git(mirror, "ls-tree", "-r", "-z", "--name-only", source["commit"]).split("\0")
    for path in sorted(filter(None, paths)):
        taken = any(fnmatch(path, pattern) for pattern in source["take"])
        left = any(fnmatch(path, pattern) for pattern in source.get("leave", ()))
        if taken and not left:
            yield path, git(mirror, "show", f"{source['commit']}:{path}")


# --- messages: protocols of a chat in Markdown -----------------------------------------------------------------------

_SPEAKER = re.compile(
    r"^(?:↳ )?\*\*(?P<name>.+?)\*\* <span[^>]*>(?P<time>\d\d:\d\d:\d\d) UTC</span>[ \t]*$", re.MULTILINE
)
_DAY = re.compile(r"^### \w{3}, (\w{3}) (\d+)\w*, (\d{4})\s*$", re.MULTILINE)
_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s]*)\)")


def chat_lines(source: Line, path: str, text: str) -> Iterator[Line]:
    """Yield the messages of a protocol; replies in a thread stand behind the message they reply to, as in the file."""
    day = re.sub(r"\D*(\d{4}-\d\d-\d\d)\D*", r"\1", path)
    today, seen = day, set[tuple[str, str, str]]()
    for number, (today_or_none, name, time, body) in enumerate(spoken(text)):
        today = today_or_none or today
        if (name, time, body) in seen:  # a reply that the protocol shows in the thread and in the chat
            continue
        seen.add((name, time, body))
        moment = datetime.fromisoformat(f"{today}T{time}")
        metadata = {"session_id": day, "message_id": f"{day}/{number}", "user_name": name, "message_role": "user"}
        metadata["created_at"] = moment.isoformat()
        yield {"_id": f"{day}/{number}", "title": "", "text": body, "metadata": metadata}


def spoken(text: str) -> Iterator[tuple[str | None, str, str, str]]:
    """Yield day (if the protocol begins a new one), speaker, time and text of each message that has a text."""
    marks = list(_SPEAKER.finditer(text))
    starts = [*(mark.start() for mark in marks), len(text)]
    day = day_begun(text[: starts[0]])
    for mark, end in zip(marks, starts[1:], strict=True):
        body = text[mark.end() : end]
        if said := plain_message(_DAY.sub("", body)):
            yield day, mark["name"], mark["time"], said
            day = None
        day = day_begun(body) or day


def day_begun(text: str) -> str | None:
    """Return the day whose heading stands in a text."""
    found = _DAY.search(text)
    return (
        datetime.strptime(" ".join(found.groups()), "%b %d %Y").replace(tzinfo=UTC).date().isoformat()
        if found
        else None
    )


def plain_message(text: str) -> str:
    """Return a message without the marks of the protocol."""
    text = re.sub(r"</?span[^>]*>", "", text)
    text = _LINK.sub(lambda link: link[2] if link[1] in link[2] else f"{link[1]} {link[2]}", text)
    text = re.sub(r"_(@[^_\n]+)_", r"\1", text)
    return html.unescape(re.sub(r"\n{2,}", "\n", text)).strip()


# --- conversations: histories that SpecStory wrote -------------------------------------------------------------------

_TURN = re.compile(r"^_\*\*(User|Agent|Assistant)([^*\n]*)\*\*_[ \t]*$", re.MULTILINE)
_SESSION = re.compile(r"<!--.*?Session ([0-9a-fA-F-]{8,}|\S+) \(")
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)[ _](\d\d)[:-](\d\d)(?:[:-](\d\d))?")
_HIDDEN = re.compile(r"<(think|tool-use)\b.*?</\1>|<details>.*?</details>|<!--.*?-->", re.DOTALL)
_MASKED = (
    (re.compile(r"(?:/Users|/home)/[\w.-]+|[A-Z]:\\Users\\[\w.-]+"), "/home/user"),
    (re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)*\.[A-Za-z]{2,}\b"), "mail@example.org"),
    (re.compile(r"\b(?:npm|gh[pousr]|sk|pk)_[A-Za-z0-9]{16,}\b"), "KEY"),
)


def session_lines(source: Line, files: Iterator[tuple[str, str]]) -> Iterator[Line]:
    """Yield the sessions; of several exports of one session the one with the most text."""
    best: dict[str, Line] = {}
    for path, text in files:
        line = session_line(source, path, text)
        if line and len(line["text"]) > len(best.get(line["_id"], {"text": ""})["text"]):
            best[line["_id"]] = line
    yield from sorted(best.values(), key=lambda line: (line["metadata"]["started_at"], line["_id"]))


def session_line(source: Line, path: str, text: str) -> Line | None:
    """Read a session. One in which nobody asks anything is none."""
    messages = list(turns(text))
    if not any(message["role"] == "user" for message in messages):
        return None
    named = _SESSION.search(text)
    session = named[1] if named else PurePosixPath(path).stem
    started = next((found for message in messages if (found := message.get("created_at"))), None)
    metadata = {
        "session_id": f"{source['name']}/{session[:8]}",
        "project": source["repository"],
        "started_at": started or moment_of(PurePosixPath(path).name),
        "path": path,
        "message_count": len(messages),
        "messages": messages,
    }
    told = "\n\n".join(f"{message['role']}: {message['text']}" for message in messages)
    return {"_id": metadata["session_id"], "title": "", "text": told, "metadata": metadata}


def turns(text: str) -> Iterator[Line]:
    """Yield the messages of a session until they are too long together: no thoughts, no calls of tools."""
    marks = list(_TURN.finditer(text))
    ends = [*(mark.start() for mark in marks), len(text)][1:]
    room = MAX_SESSION_CHARS
    for mark, end in zip(marks, ends, strict=False):
        body = plain_turn(text[mark.end() : end])[: min(MAX_MESSAGE_CHARS, room)]
        room -= len(body)
        if re.search(r"\w", body):
            message = {"role": "user" if mark[1] == "User" else "assistant", "text": body}
            moment = moment_of(mark[2])
            yield {**message, "created_at": moment} if moment else message


def plain_turn(text: str) -> str:
    """Return what is said in a turn, with private names masked."""
    text = re.sub(r"^\s*---\s*$", "", _HIDDEN.sub("", text), flags=re.MULTILINE)
    for pattern, mask in _MASKED:
        text = pattern.sub(mask, text)
    return re.sub(r"```\s*```|\n{3,}", "\n\n", text).strip()


def moment_of(text: str) -> str | None:
    """Return the first moment in a text."""
    found = _MOMENT.search(text)
    return f"{found[1]}T{found[2]}:{found[3]}:{found[4] or '00'}Z" if found else None


# --- reports: manuals in Markdown ------------------------------------------------------------------------------------


def manual_lines(source: Line, files: Iterator[tuple[str, str]]) -> Iterator[Line]:
    """Yield the pages of a manual: a file, or some sections of a long one; each begins with the title of its file."""
    number = 0
    for path, text in files:
        title, body = titled(path, text)
        if len(body) < MIN_PAGE_CHARS:
            continue
        stem = re.sub(r"^(content|docs)/|\.md$", "", path)
        parts = packed(body)
        for part, page in enumerate(parts, start=1):
            number += 1
            metadata = {"doc_name": source["name"], "title": source["title"], "page": number, "path": path}
            name = f"{source['name']}/{stem}" + (f"#{part}" if len(parts) > 1 else "")
            yield {"_id": name, "title": source["title"], "text": f"# {title}\n\n{page}", "metadata": metadata}


def titled(path: str, text: str) -> tuple[str, str]:
    """Return the title of a file, and its text without front matter and without the marks of the site."""
    front = re.match(r"---\n(.*?)\n---\n", text, re.DOTALL)
    named = re.search(r"^title:\s*(.+)$", front[1], re.MULTILINE) if front else None
    body = plain_page(text[front.end() :] if front else text)
    heading = re.match(r"# (.+)\n", body)
    if heading:
        return heading[1].strip(), body[heading.end() :].strip()
    return (named[1].strip("\"' ") if named else PurePosixPath(path).stem), body


def plain_page(text: str) -> str:
    """Return a page without images, components, and links of the site that are no words."""
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)", "", text)
    text = re.sub(r"\[\[\w+,([^\],]*)(?:,([^\]]*))?\]\]", lambda link: (link[2] or link[1]).strip(), text)
    text = _LINK.sub(r"\1", text)
    text = re.sub(r"^:::.*$|^<[A-Z]\w+[^>]*/?>$|\{\{<.*?>\}\}|\{\{%.*?%\}\}", "", text, flags=re.MULTILINE)
    return re.sub(r"\n{3,}", "\n\n", text).strip()


def packed(body: str) -> list[str]:
    """Split a long text at its headings; neighbours share a page while they are short together."""
    if len(body) <= PAGE_CHARS:
        return [body]
    pages: list[str] = []
    for section in sections(body):
        if pages and (len(pages[-1]) + len(section) <= PAGE_CHARS or len(pages[-1]) < MIN_PAGE_CHARS):
            pages[-1] += "\n\n" + section
        else:
            pages.append(section)
    return pages


def sections(body: str) -> list[str]:
    """Split a text at headings of any level that stand outside of code."""
    found, fenced = [list[str]()], False
    for line in body.splitlines():
        fenced ^= line.lstrip().startswith("```")
        if re.match(r"#{1,4} ", line) and not fenced:
            found.append([])
        found[-1].append(line)
    return [text for lines in found if (text := "\n".join(lines).strip())]


# --- sets ------------------------------------------------------------------------------------------------------------


def messages_of(mirrors: Path, source: Line) -> Iterator[Line]:
    """Yield the messages of a source."""
    for path, text in files_of(mirrors, source):
        yield from chat_lines(source, path, text)


def sessions_of(mirrors: Path, source: Line) -> Iterator[Line]:
    """Yield the sessions of a source."""
    return session_lines(source, files_of(mirrors, source))


def pages_of(mirrors: Path, source: Line) -> Iterator[Line]:
    """Yield the pages of a source."""
    return manual_lines(source, files_of(mirrors, source))


READERS: dict[str, Callable[[Path, Line], Iterator[Line]]] = {
    "messages": messages_of,
    "conversations": sessions_of,
    "reports": pages_of,
}


def read_questions(path: Path) -> list[Line]:
    """Read questions, one a line; none if there is no file yet."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [json.loads(line) for line in lines if line.strip()]


def check(name: str, corpus: list[Line], questions: list[Line]) -> None:
    """Exit if an id occurs twice, or if a gold id is not in the corpus."""
    ids = Counter(line["_id"] for line in corpus)
    asked = Counter(question["_id"] for question in questions)
    twice = sorted(entry for counted in (ids, asked) for entry, times in counted.items() if times > 1)
    missing = [f"{question['_id']}: {gold}" for question in questions for gold in question["gold"] if gold not in ids]
    if twice or missing:
        sys.exit(f"{name}: twice: {twice}; gold that is not in the corpus: {missing}")


def write(folder: Path, corpus: list[Line], questions: list[Line]) -> None:
    """Write a set. The archive holds no time, so that the same sources give the same bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    packed_corpus = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in corpus).encode()
    (folder / "corpus.jsonl.gz").write_bytes(gzip.compress(packed_corpus, mtime=0))
    queries = [{"_id": asked["_id"], "text": asked["text"], "metadata": {"why": asked["why"]}} for asked in questions]
    (folder / "queries.jsonl").write_text(
        "".join(json.dumps(query, ensure_ascii=False) + "\n" for query in queries), encoding="utf-8"
    )
    rows = [f"{asked['_id']}\t{gold}\t{gain}\n" for asked in questions for gold, gain in asked["gold"].items()]
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(rows), encoding="utf-8")


def main() -> None:
    """Build every set that the sources name."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mirrors", type=Path, required=True)
    parser.add_argument("--sources", type=Path, default=HERE / "sources_talk.json")
    parser.add_argument("--questions", type=Path, default=HERE / "questions")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    for name, chosen in json.loads(given.sources.read_text(encoding="utf-8")).items():
        read = READERS[chosen["kind"]]
        corpus = [line for source in chosen["sources"] for line in read(given.mirrors, source)]
        questions = read_questions(given.questions / f"{chosen['kind']}.jsonl")
        check(name, corpus, questions)
        write(given.out / name, corpus, questions)
        print(f"{name}: {len(corpus)} documents, {len(questions)} questions")


if __name__ == "__main__":
    main()
