"""The figures of the code base's structure, of this checkout beside a commit before.

    python -m tests.quality.structure [--before COMMIT]

Lines are non-empty lines. Walks follow `request` from each retriever's `search.step` (`walks.py`). All figures are read
from the source; nothing of the product is run.
"""

import argparse
import ast
import io
import re
import subprocess
import tarfile
import tempfile
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from tests.quality.walks import Module, Source, read_source, walk

ROOT = Path(__file__).parents[2]
MEMBERS = ("shared", "producers", "workers", "deploy")
SUFFIXES = {".py", ".sql", ".lua", ".html", ".css", ".js"}
#: Parts of a path that a reader of the core need not open.
BESIDE = {"evaluation", "reading", "histories", "adapters", "embedded", "docs", "examples"}
#: Folders of tests whose tests `make eval`, `make bench` and `make nightly` run.
ELSEWHERE = {"quality", "benchmarks", "nightly"}
RETRIEVERS = ("conversations", "files", "reports", "modules", "messages")
REMARK = re.compile(
    r"former (release|worker|row|version)|release(s)? before|earlier release|releases that never", re.IGNORECASE
)
OF_VECTORS = re.compile(
    r"embed|vector|nearest|refus|pending|(active|previous|former|first|other)_?model", re.IGNORECASE
)
DEFINITION = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class Checkout:
    """A checkout of the repository in a folder."""

    def __init__(self, folder: Path) -> None:
        """Take a folder that has the repository's top level."""
        self.folder = folder

    @cached_property
    def product(self) -> Sequence[Path]:
        """Source files of the product, without the TypeScript client."""
        return [path for member in MEMBERS for path in self._files(member) if "typescript" not in path.parts]

    @cached_property
    def tests(self) -> Sequence[Path]:
        """Source files of the tests."""
        return list(self._files("tests"))

    @cached_property
    def source(self) -> Source:
        """The parsed Python of the product."""
        return read_source(
            sorted({path for member in MEMBERS for path in (self.folder / member).rglob("src") if path.is_dir()})
        )

    @cached_property
    def retrievers(self) -> Path:
        """The folder of the retrievers."""
        return self.folder / "workers/src/querymill_workers/retrievers"

    def _files(self, member: str) -> Iterator[Path]:
        for path in sorted((self.folder / member).rglob("*")):
            if (
                path.suffix in SUFFIXES
                and path.is_file()
                and "node_modules" not in path.parts
                and ".venv" not in path.parts
            ):
                yield path


def count_lines(paths: Sequence[Path]) -> int:
    """Count the non-empty lines of files."""
    return sum(1 for path in paths for line in path.read_text(errors="replace").splitlines() if line.strip())


def lines_of_product(checkout: Checkout) -> str:
    """Count the lines of the product."""
    return f"{count_lines(checkout.product):,}"


def lines_of_core(checkout: Checkout) -> str:
    """Count the lines that a reader of the core must hold."""
    core = [path for path in checkout.product if not BESIDE & set(path.relative_to(checkout.folder).parts)]
    return f"{count_lines(core):,}"


def lines_of_tests(checkout: Checkout) -> str:
    """Count the lines of the tests, and of those that `make test` runs."""
    suite = [path for path in checkout.tests if not ELSEWHERE & set(path.relative_to(checkout.folder).parts)]
    return f"{count_lines(checkout.tests):,} / {count_lines(suite):,}"


def walks_of_searches(checkout: Checkout) -> str:
    """Walk each retriever's search: stays and returns."""
    figures = []
    for name in RETRIEVERS:
        places = (f"{name}.search", f"{name}.search.step")
        home = next(
            place
            for place in (f"querymill_workers.retrievers.{place}" for place in places)
            if place in checkout.source.modules and checkout.source.find(place, "step")
        )
        found = walk(checkout.source, home, "step", "request")
        figures.append(f"{name} {found.stays}/{found.returns}")
    return ", ".join(figures)


def shared_class_names(checkout: Checkout) -> str:
    """Count the names of classes that two or more modules define."""
    names = Counter(
        name for module in checkout.source.modules.values() for name in module.classes if not name.startswith("_")
    )
    return str(sum(1 for times in names.values() if times > 1))


def import_circles(checkout: Checkout) -> str:
    """Count the circles of imports, imports in functions and by name included, and the files on them."""
    modules = checkout.source.modules
    arrows = {name: _imported(module, modules) for name, module in modules.items()}
    reachable = {name: _reach(name, arrows) for name in arrows}
    circles = {
        frozenset(other for other in reachable[name] if name in reachable[other])
        for name in arrows
        if name in reachable[name]
    }
    return f"{len(circles)} ({sum(map(len, circles))} files)" if circles else "0"


def _imported(module: Module, modules: Mapping[str, Module]) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(module.tree):
        match node:
            case ast.ImportFrom(module=str() as name):
                found |= {full if (full := f"{name}.{bound.name}") in modules else name for bound in node.names}
            case ast.Import():
                found |= {bound.name for bound in node.names}
            case ast.Call(func=ast.Name(id="import_module") | ast.Attribute(attr="import_module"), args=[text, *_]):
                parts = text.values if isinstance(text, ast.JoinedStr) else [text]
                start = str(parts[0].value) if isinstance(parts[0], ast.Constant) else module.name
                found |= {name for name in modules if name == start or (len(parts) > 1 and name.startswith(start))}
            case _:
                pass
    return {name for name in found if name in modules and name != module.name}


def _reach(start: str, arrows: Mapping[str, set[str]]) -> set[str]:
    found: set[str] = set()
    waiting = list(arrows[start])
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += arrows[name]
    return found


def ignored_imports(checkout: Checkout) -> str:
    """Count the imports among our own modules that the contract against circles ignores."""
    contracts = tomllib.loads((checkout.folder / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    return str(
        sum(len(contract.get("ignore_imports", ())) for contract in contracts if contract["type"] == "acyclic_siblings")
    )


def lines_of_vectors(checkout: Checkout) -> str:
    """Count what each retriever writes of vectors: definitions and statements that are named after them."""
    return ", ".join(f"{name} {_lines_of_vectors(checkout.retrievers / name)}" for name in RETRIEVERS)


def _lines_of_vectors(folder: Path) -> int:
    total = 0
    for path in sorted(folder.rglob("*")):
        if path.suffix == ".py":
            lines = path.read_text().splitlines()
            for node in _definitions(ast.parse("\n".join(lines))):
                total += sum(1 for line in lines[node.lineno - 1 : node.end_lineno] if line.strip())
        elif path.suffix == ".sql" and path.name != "schema.sql":
            statements = re.split(r"^-- name: ", path.read_text(), flags=re.MULTILINE)[1:]
            named = [text for text in statements if OF_VECTORS.search(text.splitlines()[0])]
            total += sum(1 for text in named for line in text.splitlines() if line.strip())
    return total


def _definitions(tree: ast.AST) -> Iterator[DEFINITION]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, DEFINITION) and OF_VECTORS.search(node.name):
            yield node
        else:
            yield from _definitions(node)


def adapters_of_documents(checkout: Checkout) -> str:
    """Count the classes that list, count and drop documents for the port, protocols apart."""
    found = [
        owner
        for module in checkout.source.modules.values()
        if module.name.startswith("querymill_workers.")
        for owner in module.classes.values()
        if {"list", "count", "drop"} <= _methods(owner)
        if not any(isinstance(base, ast.Name) and base.id == "Protocol" for base in owner.bases)
    ]
    return str(len(found))


def _methods(owner: ast.ClassDef) -> set[str]:
    return {node.name for node in owner.body if isinstance(node, ast.FunctionDef)}


def requests(checkout: Checkout) -> str:
    """Count the classes of requests that have a kind."""
    classes = {name: node for module in checkout.source.modules.values() for name, node in module.classes.items()}
    children = {name: {_name(base) for base in node.bases} for name, node in classes.items()}

    def is_request(name: str) -> bool:
        return name == "Request" or any(is_request(base) for base in children.get(name, ()) if base != name)

    kinds = [name for name, node in classes.items() if name != "Request" and is_request(name) and _field(node, "kind")]
    return str(len(kinds))


def _name(base: ast.expr) -> str:
    match base:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Subscript(value=value):
            return _name(value)
        case _:
            return ""


def _field(owner: ast.ClassDef, name: str) -> bool:
    return any(isinstance(node, ast.AnnAssign) and _name(node.target) == name for node in owner.body)


def remarks(checkout: Checkout) -> str:
    """Count remarks on releases that came before the first."""
    pages = [
        path for path in checkout.folder.rglob("*.md") if ".venv" not in path.parts and path.name != "CHANGELOG.md"
    ]
    texts = (
        path.read_text(errors="replace")
        for path in (*checkout.product, *checkout.tests, *pages)
        if path.name != Path(__file__).name
    )
    return str(sum(len(REMARK.findall(text)) for text in texts))


FIGURES: Mapping[str, Callable[[Checkout], str]] = {
    "Python, SQL, Lua, HTML, CSS, JS of the product": lines_of_product,
    "lines of the core": lines_of_core,
    "lines of tests / in make test": lines_of_tests,
    "stays/returns of a search": walks_of_searches,
    "class names in two or more modules": shared_class_names,
    "circles of imports": import_circles,
    "ignored imports": ignored_imports,
    "lines of vectors in a retriever": lines_of_vectors,
    "adapters of Documents": adapters_of_documents,
    "requests": requests,
    "remarks on former releases": remarks,
}


def main() -> None:
    """Print the figures of this checkout, beside those of a commit if one is given."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--before", metavar="COMMIT", help="a commit, to print its figures beside today's")
    commit = parser.parse_args().before
    with tempfile.TemporaryDirectory() as folder:
        checkouts = [Checkout(ROOT)]
        if commit:
            archive = subprocess.run(
                ["git", "-C", str(ROOT), "archive", commit], capture_output=True, check=True
            ).stdout
            with tarfile.open(fileobj=io.BytesIO(archive)) as packed:
                packed.extractall(folder, filter="data")
            checkouts.insert(0, Checkout(Path(folder)))
        print(" | ".join(["figure", *([commit] if commit else []), "this checkout"]))
        for name, figure in FIGURES.items():
            print(" | ".join([name, *(figure(checkout) for checkout in checkouts)]))


if __name__ == "__main__":
    main()
