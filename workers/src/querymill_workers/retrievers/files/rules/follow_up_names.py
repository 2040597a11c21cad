"""Names in the files found so far that the next round may search."""

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Final

#: Names that one round searches at most.
MAX_NAMES: Final = 10
#: Shorter names are not searched.
MIN_CHARS: Final = 3
_MAX_CHARS: Final = 100

#: Only a plain or dotted identifier may become a query; no other text of a file does.
_IDENTIFIER: Final = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*(?:\.[A-Za-z_$][A-Za-z0-9_$]*)*")
# Keywords and names that occur in every program of a language: Python, JavaScript, TypeScript, Go, Java, Rust, C, C++.
_KEYWORDS: Final = frozenset(
    re.findall(
        "[A-Za-z_]+",
        # Python
        "False None True and as assert async await break case class continue def del elif else except finally for from"
        " global if import in is lambda match nonlocal not or pass raise return try type while with yield self cls"
        " super object print len range list dict set tuple str int float bool bytes isinstance issubclass getattr"
        " setattr hasattr property staticmethod classmethod iter next open repr hash map filter zip any all min max"
        " sum sorted reversed enumerate callable vars dir format Exception ValueError TypeError KeyError"
        " AttributeError RuntimeError NotImplementedError ImportError IndexError StopIteration append extend items"
        " keys values update join split strip startswith endswith"
        # JavaScript, TypeScript
        " abstract any arguments boolean catch console const constructor debugger declare default delete do enum eval"
        " export extends false function get implements instanceof interface let module namespace never new null number"
        " of package private protected public readonly require static string switch symbol then this throw true typeof"
        " undefined unknown var void"
        # Go
        " chan defer error fallthrough fmt func go goto make nil rune select struct"
        # Java
        " boolean byte char double final int long native override short strictfp String synchronized System throws"
        " transient volatile"
        # Rust
        " Box Err None Ok Option Result Self Some Vec crate dyn fn impl loop macro_rules mod move mut pub ref trait"
        " unsafe unwrap use usize where"
        # C, C++
        " auto bool constexpr decltype define endif explicit extern friend ifdef ifndef include inline mutable noexcept"
        " nullptr operator register signed size_t sizeof std template typedef typename union unsigned using virtual",
    )
)


def is_searchable_name(name: str) -> bool:
    """Return whether a name may be searched: an identifier of 3 to 100 characters that is not a language's own."""
    last = name.rpartition(".")[2]
    return (
        MIN_CHARS <= len(name) <= _MAX_CHARS
        and len(last) >= MIN_CHARS
        and _IDENTIFIER.fullmatch(name) is not None
        and last not in _KEYWORDS
        and not (last.startswith("__") and last.endswith("__"))
    )


def weighted(names_of: Mapping[str, Iterable[str]], *, frequency: Mapping[str, int], files: int) -> dict[str, float]:
    """Weigh the names in some files by ``files with the name × ln(1 + files / (1 + frequency))``.

    A name that occurs in two of these files, and in 9 of the collection's 100, weighs 2 × ln(1 + 100 / 10) = 4.796.

    Args:
        names_of: For each file the names in it; a name counts once per file.
        frequency: The number of files in the collection that have a name; names missing here are left out.
        files: Number of files in the collection.
    """
    counts = Counter(name for names in names_of.values() for name in set(names) if is_searchable_name(name))
    return {
        name: count * math.log(1 + files / (1 + frequency[name])) for name, count in counts.items() if name in frequency
    }


def best_names(weights: Mapping[str, float], *, used: Collection[str], limit: int = MAX_NAMES) -> list[str]:
    """Return the ``limit`` names of most weight that were not used before, ties by name."""
    fresh = [name for name, weight in weights.items() if weight > 0 and name not in used]
    return sorted(fresh, key=lambda name: (-weights[name], name))[:limit]
