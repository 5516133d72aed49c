"""Text from elsewhere, made harmless where it is shown: terminals, Markdown, spreadsheets.

Names of columns, levels and classes are kept as they are, and may hold anything. What is printed,
or written for people, goes through one of these functions at its edge.
"""

from __future__ import annotations

import re
import unicodedata

_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>()#+!|~&$])")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
# Control and format characters (they move, colour, hide or reorder text), and lone surrogates.
_HIDDEN = ("Cc", "Cf", "Cs", "Zl", "Zp")


def visible(text: str, keep: str = "\n\t") -> str:
    r"""Return text with what a terminal would act on written out, as \x1b.

    Args:
        text: of any origin.
        keep: characters that stay, of those that would be written out.

    >>> visible("age\x1b[31m")
    'age\\x1b[31m'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_written(letter) if _hidden(letter, keep) else letter for letter in text)


def _hidden(letter: str, keep: str) -> bool:
    return letter not in keep and unicodedata.category(letter) in _HIDDEN


def _written(letter: str) -> str:
    return letter.encode("unicode_escape").decode("ascii")


def line(text: str) -> str:
    r"""Return text as part of one line: `visible`, with line breaks written out, too.

    >>> line("a\nb")
    'a\\nb'
    """
    return visible(text, keep="")


def markdown(text: str) -> str:
    """Return text that Markdown shows as it is: no heading, link, code or HTML comes of it.

    >>> print(markdown("<b> # x_1"))
    &lt;b&gt; \\# x\\_1
    """
    escaped = _MARKDOWN.sub(r"\\\1", line(text))
    return escaped.replace("\\<", "&lt;").replace("\\>", "&gt;").replace("\\&", "&amp;")


def code(text: str) -> str:
    """Return text in backticks, which it cannot end.

    >>> code("a`b")
    "`a'b`"
    """
    return f"`{line(text).replace('`', chr(39))}`"


def cell(value: object) -> object:
    """Return a cell of a table that no spreadsheet takes for a formula: such text gets a quote.

    >>> cell("=1+1"), cell("-1.5"), cell(-1.5)
    ("'=1+1", '-1.5', -1.5)
    """
    if not isinstance(value, str) or not value.startswith(_FORMULA):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value
