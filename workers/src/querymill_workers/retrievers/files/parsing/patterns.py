"""Definitions of languages without a grammar here: patterns for the beginning of a line, by language.

In a pattern a space stands for blanks, `` ?`` for blanks that may be missing, and NAME for a name.

The name of a definition is the group ``name``; ``kind`` is a word of `KINDS`, or that of the pattern.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from querymill_shared.values import value

KINDS: Final = {
    "class": "class", "interface": "interface", "protocol": "interface", "trait": "trait", "struct": "struct",
    "record": "class", "object": "class", "enum": "enum", "message": "class", "service": "class", "module": "module",
    "actor": "class", "extension": "class", "mixin": "class", "contract": "class", "library": "class",
    "union": "struct", "table": "struct", "view": "struct", "data": "struct", "newtype": "type", "type": "type",
    "defmodule": "class", "defprotocol": "interface", "defimpl": "class", "package": "module",
    "function": "function", "procedure": "function", "trigger": "function", "rpc": "function",
}  # fmt: skip
_N: Final = "[A-Za-z_$][A-Za-z0-9_$]*"
_TYPE: Final = r"[A-Za-z_$][A-Za-z0-9_$.:]*(?:<[^;(){}=]*>)?(?:\[[],]*\])*[?*&]*"
_NO_STATEMENT: Final = r"(?!(?:return|await|throw|new|else|yield|goto|case|in|using|import|typedef|delete|var|final)\b)"


@value
class LinePattern:
    """A pattern for the beginning of a line, and the kind of what it defines where it names none."""

    pattern: re.Pattern[str]
    kind: str = "function"

    def kind_of(self, found: re.Match[str]) -> str:
        """Return the kind of a match."""
        written = (found.groupdict().get("kind") or "").lower().split()
        return next((KINDS[word] for word in written if word in KINDS), self.kind)


def _patterns(*written: str | tuple[str, str]) -> tuple[LinePattern, ...]:
    pairs = [(pattern, "function") if isinstance(pattern, str) else pattern for pattern in written]
    return tuple(
        LinePattern(re.compile(_spaced(f" ?{pattern}").replace("NAME", f"(?P<name>{_N})"), re.ASCII), kind)
        for pattern, kind in pairs
    )


def _spaced(pattern: str) -> str:
    """Let a space stand for blanks, and a space with a question mark for blanks that may be missing."""
    return pattern.replace(" ?", r"[\t\x20]*").replace(" ", r"[\t\x20]+")


def _modified(words: str) -> str:
    return f"(?:(?:{'|'.join(words.split())}) )"


_CSHARP: Final = _modified(
    "public private protected internal static virtual override abstract async sealed extern partial unsafe readonly"
    " file required ref"
)
_KOTLIN: Final = _modified(
    "public private protected internal open abstract final sealed data inline value inner annotation enum companion"
    " override suspend operator infix tailrec external expect actual const lateinit"
)
_SWIFT: Final = _modified(
    "public private fileprivate internal open final static class override mutating nonmutating indirect async"
    " convenience required prefix postfix nonisolated"
)
_SCALA: Final = _modified(
    r"private(?:\[\w+\])? protected(?:\[\w+\])? final sealed abstract implicit override case lazy inline open"
)
_PHP: Final = _modified("public private protected static abstract final readonly")
_DART: Final = _modified("abstract base final sealed interface mixin static external factory const late")
_SQL_NAME: Final = r"(?:[\"`\[]?\w+[\"`\]]?\.)*[\"`\[]?(?P<name>\w+)"

PATTERNS: Final[Mapping[str, Sequence[LinePattern]]] = {
    "csharp": _patterns(
        rf"{_CSHARP}*(?P<kind>class|interface|struct|enum|record(?: (?:class|struct))?) NAME",
        rf"{_CSHARP}+(?:{_TYPE} )?NAME ?(?:<[^>(]*>)? ?\(",
        rf"{_NO_STATEMENT}{_TYPE} NAME ?(?:<[^>(]*>)?\([^()]*\) ?(?:;|$)",
    ),
    "kotlin": _patterns(
        rf"{_KOTLIN}*(?:fun )?(?P<kind>class|interface|object) NAME",
        rf"{_KOTLIN}*fun (?:<[^>]*> ?)?(?:{_N}(?:<[^>]*>)?\??\.)*NAME ?\(",
        (rf"{_KOTLIN}*typealias NAME", "type"),
    ),
    "swift": _patterns(
        rf"(?:@\w+(?:\([^)]*\))? )*{_SWIFT}*(?P<kind>class|struct|enum|protocol|extension|actor)"
        r" (?!(?:func|var|let)\b)NAME",
        rf"(?:@\w+(?:\([^)]*\))? )*{_SWIFT}*func NAME",
        rf"{_SWIFT}*(?P<name>init)[?!]? ?[(<]",
        (rf"{_SWIFT}*(?:typealias|associatedtype) NAME", "type"),
    ),
    "scala": _patterns(
        rf"{_SCALA}*(?P<kind>class|object|trait|enum) NAME",
        rf"{_SCALA}*def NAME",
        (rf"{_SCALA}*(?:opaque )?type NAME[^=]*=", "type"),
    ),
    "php": _patterns(
        rf"{_PHP}*(?P<kind>class|interface|trait|enum) NAME",
        rf"{_PHP}*function &?NAME ?\(",
        (rf"{_PHP}*const (?:\w+ )?NAME ?=", "constant"),
    ),
    "ruby": _patterns(
        rf"(?P<kind>class|module) (?:{_N}::)*NAME",
        r"(?:private |protected )?def (?:self\.)?(?P<name>[A-Za-z_][A-Za-z0-9_]*[?!=]?)",
        r"(?:define_method|attr_accessor|scope) ?\(? ?:(?P<name>[A-Za-z_][A-Za-z0-9_]*[?!]?)",
    ),
    "shell": _patterns(r"function (?P<name>[A-Za-z_][A-Za-z0-9_:.-]*)", r"(?P<name>[A-Za-z_][A-Za-z0-9_:.-]*) ?\(\)"),
    "sql": _patterns(
        r"(?i:create (?:or (?:replace|alter) )?"
        r"(?:(?:global|local|temp|temporary|unlogged|external|materialized|recursive|definer=\S+) )*"
        r"(?P<kind>table|view|function|procedure|trigger|type) (?:if not exists )?)" + _SQL_NAME,
    ),
    "lua": _patterns(
        rf"(?:local )?function (?:{_N}[.:])*NAME ?\(",
        rf"(?:local )?(?:{_N}\.)*NAME ?= ?function ?\(",
    ),
    "elixir": _patterns(
        rf"(?P<kind>defmodule|defprotocol|defimpl) (?:{_N}\.)*NAME",
        r"(?:def|defp|defmacro|defmacrop|defguard|defguardp|defdelegate) (?P<name>[a-z_][A-Za-z0-9_]*[?!]?)",
    ),
    "perl": _patterns(r"(?P<kind>package|class) (?:\w+::)*NAME", r"(?:sub|method) NAME"),
    "r": _patterns(
        r"(?P<name>[A-Za-z.][A-Za-z0-9._]*) ?(?:<-|=) ?function ?\(",
        (rf"(?:{_N} ?<- ?)?(?:setClass|setRefClass|R6Class|R6::R6Class)\( ?['\"]NAME", "class"),
        r"(?:setMethod|setGeneric)\( ?['\"]NAME",
    ),
    "julia": _patterns(
        rf"(?:@\w+ )*(?:function|macro) (?:{_N}\.)*NAME!?",
        (r"(?:abstract type|primitive type|(?:mutable )?struct) NAME", "struct"),
        (r"(?:bare)?module NAME", "module"),
        r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)!?\([^()]*\)(?: where \S+)? ?=(?!=)",
    ),
    "dart": _patterns(
        rf"{_DART}*(?P<kind>class|mixin|extension|enum) NAME",
        rf"{_NO_STATEMENT}{_DART}*(?:{_TYPE} )NAME(?:<[^>(]*>)?\([^;]*\)? ?(?:async\*?|sync\*)? ?(?:\{{|=>|$)",
    ),
    "haskell": _patterns(
        r"(?P<kind>data|newtype|class|type)(?: (?:family|instance))? (?:[^=]*=> ?)?NAME",
        r"(?P<name>[a-z_][A-Za-z0-9_']*) ?::",
    ),
    "protobuf": _patterns(r"(?P<kind>message|service|enum|rpc) NAME"),
    "groovy": _patterns(
        r"(?:(?:public|private|protected|static|final|abstract) )*(?P<kind>class|interface|trait|enum) NAME",
        rf"(?:(?:public|private|protected|static|final) )*(?:def|void|{_TYPE}) NAME ?\([^()]*\) ?\{{",
        (r"task NAME", "function"),
    ),
    "powershell": _patterns(
        r"(?i:function|filter) (?:\w+:)?(?P<name>[A-Za-z_][A-Za-z0-9_-]*)", r"(?P<kind>class|enum) NAME"
    ),
    "objectivec": _patterns(
        (r"@(?:interface|implementation|protocol) NAME", "class"),
        r"[-+] ?\([^)]*\) ?NAME",
    ),
    "zig": _patterns(
        r"(?:pub )?(?:export |inline )?fn NAME",
        (r"(?:pub )?const NAME ?= ?(?:extern |packed )?(?:struct|enum|union)", "struct"),
    ),
    "erlang": _patterns((r"-module\( ?NAME", "module"), r"(?P<name>[a-z][A-Za-z0-9_]*)\([^()]*\) ?(?:when\b.*)?->"),
    "clojure": _patterns(
        r"\((?:defn-?|defmacro|defmulti|defmethod) (?:\^\S+ )?"
        r"(?P<name>[A-Za-z_*+!?<>=-][A-Za-z0-9_*+!?<>='.-]*)",
        (r"\((?:defrecord|deftype|defprotocol) NAME", "class"),
    ),
    "fsharp": _patterns(
        r"let (?:rec |inline |private |mutable )*NAME",
        (r"type (?:private |internal )?NAME", "class"),
        r"(?:static |abstract |override |default )*member (?:\w+\.)?NAME",
    ),
    "solidity": _patterns(
        r"(?:abstract )?(?P<kind>contract|interface|library|struct|enum) NAME",
        r"(?:function|modifier|event|error) NAME",
    ),
    "terraform": _patterns(
        (r"(?:resource|data) \"[^\"]+\" \"(?P<name>[^\"]+)\"", "class"),
        (r"(?:variable|output|module|provider) \"(?P<name>[^\"]+)\"", "class"),
    ),
    "make": _patterns(r"(?<!\s)(?P<name>[A-Za-z0-9_][A-Za-z0-9_./-]*) ?:(?![=:])", r"define NAME"),
}  # fmt: skip
