"""Names near to given ones that are valid, free and not claimed by a language."""

from __future__ import annotations

import keyword
import re
import unicodedata
from collections.abc import Callable, Sequence

from ._parse import FUNCTIONS

_CONSTANTS = "E I pi oo zoo nan EulerGamma Catalan GoldenRatio TribonacciConstant"
# What generated code calls, and what compilers keep for themselves.
_CODE = (
    "np numpy math law auto break case char const continue default do double else enum extern "
    "float for goto if inline int long register restrict return short signed sizeof static struct "
    "switch typedef union unsigned void volatile while bool true false nullptr constexpr alignas "
    "alignof thread_local static_assert typeof class new delete this template operator private "
    "public protected virtual friend namespace using throw catch try typename explicit export "
    "mutable and or not xor asm fortran linux unix main NULL NAN INFINITY HUGE_VAL M_PI M_E fabs "
    "pow exp2 expm1 log2 log10 log1p hypot fmax fmin fmod ceil round trunc tgamma lgamma isnan "
    "isinf power where arctan arcsin arccos array asarray float64"
)
_IN_TEXT = FUNCTIONS | frozenset(_CONSTANTS.split())
_IN_CODE = frozenset(_CODE.split())


def symbol_names(columns: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the symbols: those of the columns wherever text keeps them."""

    def plain(name: str) -> bool:
        # Python reads identifiers in this normal form, so that others would come back changed.
        return name.isidentifier() and unicodedata.normalize("NFKC", name) == name

    return _distinct(columns, plain, _close, _claimed_in_text)


def identifiers(columns: Sequence[str]) -> tuple[str, ...]:
    """Return names that are valid in Python and in C."""

    def plain(name: str) -> bool:
        return name.isascii() and name.isidentifier()

    def claimed(name: str) -> bool:
        reserved = re.match(r"__|_[A-Z]", name)  # by the C standard
        return bool(reserved) or name in _IN_CODE or _claimed_in_text(name)

    return _distinct(columns, plain, _ascii, claimed)


def _claimed_in_text(name: str) -> bool:
    parameter = re.fullmatch(r"c[0-9]+", name)
    return bool(parameter) or keyword.iskeyword(name) or name in _IN_TEXT


def _distinct(
    columns: Sequence[str],
    plain: Callable[[str], bool],
    near: Callable[[str], str],
    claimed: Callable[[str], bool],
) -> tuple[str, ...]:
    """Keep the names that can stay; give the others the nearest that is free."""
    kept = {name for name in columns if plain(name) and not claimed(name)}
    taken = set(kept)
    result = []
    for place, column in enumerate(columns):
        name = column
        if column not in kept:
            name = stem = near(column) or f"x{place}"
            if claimed(stem):
                stem = stem.lstrip("_") or "x"
                name = stem = stem if not claimed(stem) else f"{stem}_"
            count = 1
            while name in taken or claimed(name):
                count += 1
                name = f"{stem.rstrip('_')}_{count}"
        taken.add(name)
        result.append(name)
    return tuple(result)


def _close(name: str) -> str:
    """Return an identifier near to a name, in any alphabet; empty if nothing of it is left."""
    words = re.sub(r"\W+", "_", unicodedata.normalize("NFKC", name)).strip("_")
    words = f"x{words}" if words and not words[0].isidentifier() else words
    same = unicodedata.normalize("NFKC", words) == words
    return words if words.isidentifier() and same else _ascii(name)


def _ascii(name: str) -> str:
    """Return an ASCII identifier near to a name: accents go, Greek letters are spelt out."""
    letters = []
    for letter in unicodedata.normalize("NFKD", name):
        spelt = unicodedata.name(letter, "").split()
        if letter.isascii():
            letters.append(letter)
        elif spelt[:1] == ["GREEK"] and "LETTER" in spelt:
            word = spelt[spelt.index("LETTER") + 1]
            letters.append(word.capitalize() if "CAPITAL" in spelt else word.lower())
        elif not unicodedata.combining(letter):
            letters.append("_")
    words = re.sub(r"[^0-9a-zA-Z_]+", "_", "".join(letters)).strip("_")
    return f"x{words}" if words[:1].isdigit() else words
