"""Follow one parameter of a function through the calls that pass it on, from the source alone.

A *stay* is a run of calls into one module; a *return* is a stay in a module that the walk had left before. Both say how
often a reader changes the file to follow a request. Calls are taken in the order of the text, branches one after the
other. A call whose callee is chosen at run time (a method that several classes define, or that built-in types have) is
not followed. What is made of the parameter counts as it: a part of it, a value it was put into, and what a function
returns of it; a comparison does not.
"""

import ast
from collections import namedtuple
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

Function = ast.FunctionDef | ast.AsyncFunctionDef
BUILT_IN = (str, bytes, list, tuple, dict, set, int, float, namedtuple("Named", ()))


@dataclass(frozen=True)
class Walk:
    """How often a reader changes the module, and how often into one that was left before."""

    stays: int
    returns: int


@dataclass(frozen=True)
class Callee:
    """A function of the source, and the module it stands in."""

    module: str
    name: str
    node: Function


@dataclass(frozen=True)
class Module:
    """A parsed module: what it defines, and what its imports bind to which definition (module, name)."""

    name: str
    tree: ast.Module

    @cached_property
    def imports(self) -> Mapping[str, tuple[str, str]]:
        """Local names of imported definitions."""
        return {
            bound.asname or bound.name: (node.module, bound.name)
            for node in ast.walk(self.tree)
            if isinstance(node, ast.ImportFrom) and node.module
            for bound in node.names
        }

    @cached_property
    def functions(self) -> Mapping[str, Function]:
        """Functions at the top of the module."""
        return {node.name: node for node in self.tree.body if isinstance(node, Function)}

    @cached_property
    def classes(self) -> Mapping[str, ast.ClassDef]:
        """Classes at the top of the module."""
        return {node.name: node for node in self.tree.body if isinstance(node, ast.ClassDef)}


@dataclass(frozen=True)
class Source:
    """All modules below some source folders."""

    modules: Mapping[str, Module]

    @cached_property
    def methods(self) -> Mapping[str, Sequence[Callee]]:
        """The definitions of each method name."""
        found: dict[str, list[Callee]] = {}
        for module in self.modules.values():
            for owner in module.classes.values():
                for node in owner.body:
                    if isinstance(node, Function):
                        found.setdefault(node.name, []).append(Callee(module.name, node.name, node))
        return found

    def find(self, module: str, name: str) -> Callee | None:
        """Return a function that a module defines or hands on, None for a class and what is not ours."""
        home = self.modules.get(module)
        if home is None:
            return None
        if name in home.functions:
            return Callee(module, name, home.functions[name])
        return self.find(*home.imports[name]) if name in home.imports and home.imports[name] != (module, name) else None

    def has_class(self, module: str, name: str) -> bool:
        """Return whether a name stands for a class of the source in a module."""
        home = self.modules.get(module)
        if home is None or name in home.classes:
            return home is not None
        return name in home.imports and home.imports[name] != (module, name) and self.has_class(*home.imports[name])

    def only(self, method: str) -> Callee | None:
        """Return the definition of a method that one class alone defines, and no built-in type."""
        if any(hasattr(kind, method) for kind in BUILT_IN):
            return None
        defined = self.methods.get(method, ())
        return defined[0] if len(defined) == 1 else None


def read_source(folders: Sequence[Path]) -> Source:
    """Parse every Python file below the source folders; a module is named as it is imported."""
    modules = {}
    for folder in folders:
        for path in sorted(folder.rglob("*.py")):
            name = ".".join(path.relative_to(folder).with_suffix("").parts).removesuffix(".__init__")
            modules[name] = Module(name, ast.parse(path.read_text()))
    return Source(modules)


def walk(source: Source, module: str, function: str, parameter: str) -> Walk:
    """Follow a parameter of a function. Raises ``LookupError`` if the source has no such function."""
    start = source.find(module, function)
    if start is None:
        raise LookupError(f"{module}.{function}: not in the source")
    trip = _Trip(source)
    trip.enter(start, frozenset({parameter}))
    runs = [name for name, before in zip(trip.entered, [None, *trip.entered], strict=False) if name != before]
    return Walk(len(runs), len(runs) - len(set(runs)))


@dataclass
class _Trip:
    """The modules entered so far, and of each function passed whether it returned what it was given."""

    source: Source
    entered: list[str] = field(default_factory=list)
    returned: dict[tuple[str, str, int], bool] = field(default_factory=dict)

    def enter(self, callee: Callee, carried: frozenset[str]) -> bool:
        """Note a call, follow the function once, and say whether it returns what it was given."""
        self.entered.append(callee.module)
        key = (callee.module, callee.name, callee.node.lineno)
        if key not in self.returned:
            self.returned[key] = False
            visit = _Visit(self, callee, set(carried))
            for statement in callee.node.body:
                visit.run(statement)
            self.returned[key] = visit.returns
        return self.returned[key]


@dataclass
class _Visit:
    """One function, run over its text: which of its names hold what was given."""

    trip: _Trip
    callee: Callee
    names: set[str]
    returns: bool = False
    nested: dict[str, Function] = field(default_factory=dict)

    def run(self, node: ast.AST) -> None:
        """Take a statement: its expressions in order, then the statements in it."""
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self.nested[node.name] = node
            case ast.Return(value=ast.expr() as value):
                self.returns |= self.holds(value)
            case ast.expr():
                self.holds(node)
            case _:
                targets, bound, rest = _parts(node)
                if bound is not None:
                    self._bind(targets, self.holds(bound))
                for child in rest:
                    self.run(child)

    def holds(self, node: ast.expr) -> bool:
        """Follow the calls of an expression, and say whether its value holds what was given."""
        match node:
            case ast.Name(id=name):
                return name in self.names
            case ast.Call():
                return self._call(node)
            case ast.NamedExpr(target=target, value=value):
                held = self.holds(value)
                self._bind([target], held)
                return held
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                return self._comprehend(node)
            case _:
                parts = [self.holds(child) for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
                return any(parts) and not isinstance(node, ast.Compare | ast.Lambda)

    def _comprehend(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> bool:
        for generator in node.generators:
            self._bind([generator.target], self.holds(generator.iter))
            for condition in generator.ifs:
                self.holds(condition)
        made = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        held = [self.holds(value) for value in made]
        return any(held)

    def _call(self, call: ast.Call) -> bool:
        receiver = call.func.value if isinstance(call.func, ast.Attribute) else None
        on_it = receiver is not None and self.holds(receiver)
        placed = [
            self.holds(argument.value if isinstance(argument, ast.Starred) else argument) for argument in call.args
        ]
        named = {word.arg or "*": self.holds(word.value) for word in call.keywords}
        target = self._find(call.func)
        if target is None:
            return self._makes_value(call.func) and (any(placed) or any(named.values()))
        received = _received(target.node, on_it, placed, named)
        return self.trip.enter(target, received) if received else False

    def _find(self, called: ast.expr) -> Callee | None:
        source, home = self.trip.source, self.callee.module
        match called:
            case ast.Name(id=name) if name in self.nested:
                return Callee(home, name, self.nested[name])
            case ast.Name(id=name):
                return source.find(home, name)
            case ast.Attribute(value=ast.Name(id=holder), attr=name) if holder in source.modules[home].imports:
                return source.find(".".join(source.modules[home].imports[holder]), name) or source.only(name)
            case ast.Attribute(attr=name):
                return source.only(name)
            case _:
                return None

    def _makes_value(self, called: ast.expr) -> bool:
        """Return whether a call puts what it is given into a value of our own."""
        return isinstance(called, ast.Name) and self.trip.source.has_class(self.callee.module, called.id)

    def _bind(self, targets: Sequence[ast.expr], held: bool) -> None:
        if held:
            self.names |= {
                name.id
                for target in targets
                for name in ast.walk(target)
                if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
            }


def _parts(node: ast.AST) -> tuple[Sequence[ast.expr], ast.expr | None, Sequence[ast.AST]]:
    """Return the targets and the value that a statement binds, and what is left of it to run."""
    match node:
        case ast.Assign(targets=targets, value=value):
            return targets, value, []
        case ast.AnnAssign(target=target, value=value) | ast.AugAssign(target=target, value=value):
            return [target], value, []
        case ast.For(target=target, iter=value):
            return [target], value, [*node.body, *node.orelse]
        case ast.withitem(context_expr=value, optional_vars=target):
            return [target] if target else [], value, []
        case _:
            return [], None, list(ast.iter_child_nodes(node))


def _received(function: Function, on_it: bool, placed: Sequence[bool], named: Mapping[str, bool]) -> frozenset[str]:
    """Return the parameters of a function that receive what was given."""
    parameters = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
    received = {name for name, held in named.items() if held}
    if parameters[:1] in (["self"], ["cls"]):
        received |= {"self"} if on_it else set()
        parameters = parameters[1:]
    received |= {parameters[place] if place < len(parameters) else "*" for place, held in enumerate(placed) if held}
    return frozenset(received)
