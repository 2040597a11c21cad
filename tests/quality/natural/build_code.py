"""Build the evaluation sets ``natural_modules`` and ``natural_files`` from mirrors of public git repositories.

A mirror is a bare git directory that has the commit named in ``sources_code.json``; the questions with their gold are
in ``questions/modules.jsonl`` and ``questions/files.jsonl`` beside this file. The sets are written in the format of the
other sets (``corpus.jsonl.gz``, ``queries.jsonl``, ``qrels.tsv``, ``README.md``). The same input gives the same bytes.

    python -m tests.quality.natural.build_code --mirrors MIRRORS --out SETS

A mirror of ``owner/name`` is the bare repository ``MIRRORS/owner+name/repo``.
"""

import argparse
import csv
import gzip
import json
import re
import subprocess
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

HERE: Final = Path(__file__).resolve().parent
#: The most characters of a file and of an example; more is cut (at these commits, nothing is).
FILE_CHARS: Final = 200_000
EXAMPLE_CHARS: Final = 200_000

Line = dict[str, Any]

_FROM: Final = re.compile(r"^import\s+(?P<names>[^;]*?)\s+from\s+'(?P<path>[^']+)';?[ \t]*\n?", re.MULTILINE)
_BARE: Final = re.compile(r"^import\s+'[^']+';?[ \t]*\n?", re.MULTILINE)
_LIBRARY: Final = re.compile(r"^\.\./src/(?P<module>ol(?:/[A-Za-z0-9_$/]+)?)\.js$")
_HEADER_FIELD: Final = re.compile(r"^(?P<name>[a-z]+):[ \t]*(?P<value>.*)$")
_PYTHON_IMPORT: Final = re.compile(r"^\s*(?:from\s+([.\w]+)\s+import\b|import\s+([\w.]+))", re.MULTILINE)
_GO_IMPORTS: Final = re.compile(r"^import\s+(?:\((?P<many>.*?)^\)|(?P<one>[^\n(]+)$)", re.MULTILINE | re.DOTALL)
_QUOTED: Final = re.compile(r'"([^"\n]+)"')


def main() -> None:
    """Read the sources and the questions, and write both sets."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mirrors", type=Path, required=True, help="folder of the git mirrors")
    parser.add_argument("--out", type=Path, required=True, help="folder to write the sets to")
    options = parser.parse_args()
    sources = json.loads((HERE / "sources_code.json").read_text(encoding="utf-8"))
    for name, read in (("modules", _examples), ("files", _files)):
        repositories = sources[f"natural_{name}"]
        corpus = [line for source in repositories for line in read(options.mirrors, source)]
        questions = _questions(HERE / "questions" / f"{name}.jsonl", {line["_id"] for line in corpus})
        _write(options.out / f"natural_{name}", corpus, questions, repositories)
        print(f"natural_{name}: {len(corpus)} documents, {len(questions)} questions")


# Reading a mirror


def _taken(mirrors: Path, source: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield path and text of each file that the globs of a source take, in the order of the paths."""
    mirror = mirrors / source["repo"].replace("/", "+") / "repo"
    paths = [path for path in _listed(mirror, source["commit"]) if _is_wanted(path, source)]
    yield from zip(paths, _texts(mirror, source["commit"], paths), strict=True)


def _listed(mirror: Path, commit: str) -> list[str]:
    command = ["git", "-C", str(mirror), "ls-tree", "-r", "-z", "--name-only", commit]
    listed = subprocess.run(command, check=True, capture_output=True).stdout.decode()
    return sorted(filter(None, listed.split("\0")))


def _is_wanted(path: str, source: Mapping[str, Any]) -> bool:
    return _matches(path, source["take"]) and not _matches(path, source["leave"])


def _matches(path: str, globs: Iterable[str]) -> bool:
    """Whether a path matches a glob, whose ``*`` stops at a slash and whose ``**/`` does not."""
    return any(
        fnmatchcase(path, glob) and ("**" in glob or path.count("/") == glob.count("/")) for glob in _expanded(globs)
    )


def _expanded(globs: Iterable[str]) -> Iterator[str]:
    for glob in globs:
        yield glob
        if "**/" in glob:
            yield glob.replace("**/", "")


def _texts(mirror: Path, commit: str, paths: Sequence[str]) -> Iterator[str]:
    asked = "".join(f"{commit}:{path}\n" for path in paths).encode()
    command = ["git", "-C", str(mirror), "cat-file", "--batch"]
    answer = subprocess.run(command, input=asked, check=True, capture_output=True).stdout
    start = 0
    for path in paths:
        head, _, _ = answer[start : start + 1_000].partition(b"\n")
        if b" blob " not in head:
            raise SystemExit(f"{mirror} has no {path}: {head.decode()}")
        begin, size = start + len(head) + 1, int(head.split()[-1])
        yield answer[begin : begin + size].decode("utf-8")
        start = begin + size + 1


# Examples by the modules they use


def _examples(mirrors: Path, source: Mapping[str, Any]) -> Iterator[Line]:
    """Yield the examples that import the library: ``NAME.js``, described by the header of ``NAME.html``."""
    texts = dict(_taken(mirrors, source))
    for path, code in texts.items():
        page = texts.get(path.removesuffix(".js") + ".html")
        modules = _modules(code)
        if path.endswith(".js") and page is not None and modules:
            yield _example(path, code[:EXAMPLE_CHARS], modules, _header(page))


def _example(path: str, code: str, modules: list[str], header: Mapping[str, str]) -> Line:
    parts = (header.get("title", ""), header.get("shortdesc", ""), header.get("docs", ""))
    description = " ".join(part if part.endswith((".", "!", "?")) else f"{part}." for part in parts if part)
    body = _BARE.sub("", _FROM.sub("", code)).strip()
    meta = {"vtkjs_modules": modules, "description": description}
    return {
        "_id": path,
        "title": header.get("title", path),
        "text": f"{description}\nModules: {', '.join(modules)}\n{body}",
        "metadata": {"file_path": path, "code": code, "meta_info": meta},
    }


def _modules(code: str) -> list[str]:
    """Name what an example imports of the library: a default import by its module, any other by module and name."""
    found: dict[str, None] = {}
    for imported in _FROM.finditer(code):
        library = _LIBRARY.match(imported["path"])
        if library:
            module = library["module"].replace("/", ".")
            found.update(dict.fromkeys(_dotted(module, imported["names"])))
    return list(found)


def _dotted(module: str, names: str) -> Iterator[str]:
    default, _, named = names.partition("{")
    if default.strip(" ,\n"):
        yield module
    for name in named.rstrip("} \n").split(","):
        if name.strip():
            yield f"{module}.{name.split(' as ')[0].strip()}"


def _header(page: str) -> dict[str, str]:
    """Read the fields between the ``---`` lines of an example's page. A field's further lines are indented."""
    fields: dict[str, list[str]] = {}
    name = ""
    for line in page.split("---", 2)[1].splitlines():
        field = _HEADER_FIELD.match(line)
        if field:
            name = field["name"]
        if name:
            fields.setdefault(name, []).append(field["value"] if field else line)
    return {name: _plain(" ".join(lines)) for name, lines in fields.items()}


def _plain(value: str) -> str:
    without_tags = re.sub(r"<[^>]+>", "", value)
    return re.sub(r"^[>|]-?(\s|$)", "", " ".join(without_tags.split())).strip("\"' ")


# Files of packages


def _files(mirrors: Path, source: Mapping[str, Any]) -> Iterator[Line]:
    """Yield the files of a package that have any text."""
    package = source["repo"].rpartition("/")[2]
    for path, text in _taken(mirrors, source):
        if text.strip():
            yield {
                "_id": f"{package}:{path}",
                "title": path,
                "text": text[:FILE_CHARS],
                "metadata": {
                    "repo": source["repo"],
                    "path": path,
                    "package": f"{package}@{source['commit'][:10]}",
                    "lang": source["lang"],
                    "lines": text.count("\n") + 1,
                    "imports": _imports(text, source["lang"]),
                    "cut": len(text) > FILE_CHARS,
                },
            }


def _imports(text: str, lang: str) -> list[str]:
    if lang == "python":
        return sorted({first or second for first, second in _PYTHON_IMPORT.findall(text)})
    blocks = (found["many"] or found["one"] for found in _GO_IMPORTS.finditer(text))
    return sorted({name for block in blocks for name in _QUOTED.findall(block)})


# Questions, and writing


def _questions(path: Path, known: set[str]) -> list[Line]:
    """Read the questions; refuse gold that is not in the corpus, and an id that a question before it has."""
    questions = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    ids = [question["_id"] for question in questions]
    unknown = sorted(name for question in questions for name in question["gold"] if name not in known)
    if unknown or len(set(ids)) < len(ids):
        raise SystemExit(f"{path}: gold that is not in the corpus: {unknown}; {len(ids) - len(set(ids))} ids twice")
    return questions


def _write(folder: Path, corpus: list[Line], questions: list[Line], sources: list[Line]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    packed = gzip.compress("".join(map(_json, corpus)).encode(), mtime=0)
    (folder / "corpus.jsonl.gz").write_bytes(packed)
    asked = "".join(_json(_query(question)) for question in questions)
    (folder / "queries.jsonl").write_text(asked, encoding="utf-8")
    with (folder / "qrels.tsv").open("w", encoding="utf-8", newline="") as judged:
        rows = csv.writer(judged, delimiter="\t", lineterminator="\n")
        rows.writerow(("query-id", "corpus-id", "score"))
        rows.writerows((each["_id"], name, gain) for each in questions for name, gain in each["gold"].items())
    (folder / "README.md").write_text(_readme(folder.name, len(corpus), len(questions), sources), encoding="utf-8")


def _query(question: Line) -> Line:
    metadata = {name: question[name] for name in ("repo", "lang", "why") if name in question}
    return {"_id": question["_id"], "text": question["text"], "metadata": metadata}


def _json(line: Line) -> str:
    return json.dumps(line, ensure_ascii=False) + "\n"


def _readme(name: str, documents: int, questions: int, sources: list[Line]) -> str:
    listed = "\n".join(
        f"- {each['repo']} @ {each['commit']}, {each['licence']}: {', '.join(each['take'])}" for each in sources
    )
    return textwrap.dedent("""\
        # {name}
        {listed}

        {documents} documents, {questions} questions. The questions were written by hand, with their gold noted before
        any search, as by a person who does not know the names in the code. Gold 2 = what answers, 1 = also right.
        Run `natural_files` with the filter metadata.repo.
        """).format(name=name, listed=listed, documents=documents, questions=questions)


if __name__ == "__main__":
    main()
