"""How many pairs: a number, or a rule that grows with the number of features."""

from __future__ import annotations

import math
import re

from .._validation import integer

_RULE = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)?\*?(d|dlogd|d\^2)")
_FORMS = 'an integer, "none", "all", or a multiple a >= 0 in "a d", "a d log d" or "a d^2"'


def max_pairs(features: int) -> int:
    """The number of pairs of `features` inputs, d (d - 1) / 2.

    Args:
        features: the number d of inputs, at least 1.

    >>> max_pairs(784)
    306936
    """
    d = integer(features, "features", 1)
    return d * (d - 1) // 2


def resolve_size(rule: int | str, features: int, maximum: int | None = None) -> int:
    """The number of pairs |S| that `rule` means for `features` inputs.

    A rule is capped at the number of pairs there are; an integer beyond it is an error.

    Args:
        rule: an integer, or a string such as "0.5d", "2*d", "d log d" (natural), "0.1 d^2",
            "all" or "none"; rounded to the nearest integer, halves to even.
        features: the number d of inputs, at least 1.
        maximum: how many pairs there are to choose from; d (d - 1) / 2 when None.

    >>> resolve_size("0.5d", 8), resolve_size("d log d", 8), resolve_size("d^2", 8)
    (4, 17, 28)
    """
    d = integer(features, "features", 1)
    most = max_pairs(d) if maximum is None else integer(maximum, "maximum")
    if isinstance(rule, str):
        return _resolve_rule(rule, d, most)
    if isinstance(rule, float):
        hint = f'for {rule:g} times the number of features write "{rule:g}d"'
        raise TypeError(f"size must be {_FORMS}, got the float {rule}; {hint}")
    try:
        count = integer(rule, "size")
    except (TypeError, ValueError) as error:
        raise type(error)(f"{error}; allowed: {_FORMS}") from None
    if count > most:
        hint = 'write "all" for all of them'
        raise ValueError(f"size must be at most {most} for features={d}, got {rule}; {hint}")
    return count


def _resolve_rule(rule: str, d: int, most: int) -> int:
    text = "".join(rule.lower().split())
    if text in ("none", "all"):
        return most if text == "all" else 0
    match = _RULE.fullmatch(text)
    if match is None:
        raise ValueError(f"size must be {_FORMS}, got {rule!r}")
    unit = {"d": d, "dlogd": d * math.log(d), "d^2": d * d}[match[2]]
    return round(min(float(match[1] or 1) * unit, most))
