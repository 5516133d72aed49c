"""Docstrings as they are written here, turned into the mark-up that autodoc reads.

They are plain text with `code` in backticks, indented formulas and tables, and the sections Args,
Attributes, Returns, Raises, Shape and Example. Parameters get their types and defaults from the
signature, and stand in the groups of `parameter_groups`.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from textwrap import dedent, indent
from typing import TYPE_CHECKING, Any

from parameter_groups import GROUPS

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_SECTION = re.compile(r"(Args|Attributes|Returns|Yields|Raises|Example|Examples|Shape|Note):(.*)")
_ENTRY = re.compile(r"(\*{0,2}\w[\w*, ]*): (.*)")
_TITLES = {"Args": "Parameters", "Attributes": "Fields", "Example": "Example"}


def inline(text: str) -> str:
    """Return a paragraph with its code marked, and all else taken as it stands."""
    parts = re.split(r"`([^`]+)`", text)
    out = [_escaped(parts[0])]
    for code, after in zip(parts[1::2], parts[2::2], strict=True):
        before = "\\ " if out[-1][-1:].isalnum() else ""
        out.append(f"{before}``{code}``" + ("\\ " if after[:1].isalnum() else "") + _escaped(after))
    return "".join(out)


def _escaped(text: str) -> str:
    return re.sub(r"([\\*|_`])", r"\\\1", text)


def body(text: str) -> Iterator[str]:
    """Yield the blocks of plain text: paragraphs, lists, examples, and what is indented."""
    for block in re.split(r"\n\s*\n", dedent(text).strip("\n")):
        lines = block.splitlines()
        if not block.strip():
            continue
        if lines[0].startswith(">>>"):
            yield block
        elif all(line.startswith("    ") for line in lines):
            yield "::\n\n" + block
        elif lines[0].startswith("- "):
            yield inline(block)
        else:
            heads = [i for i, line in enumerate(lines) if line.startswith("    ")]
            cut = heads[0] if heads else len(lines)
            yield inline("\n".join(lines[:cut]))
            if heads:
                yield "::\n\n" + "\n".join(lines[cut:])


def sections(doc: str) -> Iterator[tuple[str, str]]:
    """Yield (section, text); the first has no name."""
    name, lines = "", []
    for line in doc.splitlines():
        match = _SECTION.fullmatch(line)
        if match:
            yield name, "\n".join(lines)
            name, lines = match[1], [match[2].strip()] if match[2].strip() else []
        elif name and line and not line.startswith(" ") and name != "Shape":
            yield name, "\n".join(lines)
            name, lines = "", [line]
        else:
            lines.append(line)
    yield name, "\n".join(lines)


def entries(text: str) -> dict[str, str]:
    """Return the entries `name: text` of a section, by name."""
    found: dict[str, list[str]] = {}
    for line in dedent(text).splitlines():
        match = _ENTRY.fullmatch(line)
        if match and not line.startswith(" "):
            found[match[1]] = [match[2]]
        elif found:
            found[next(reversed(found))].append(line.strip())
    return {name: "\n".join(lines).strip() for name, lines in found.items()}


def _kind(name: str, signature: inspect.Signature | None) -> str:
    """Return type and default of a parameter, as code."""
    parameter = signature.parameters.get(name) if signature else None
    if parameter is None:
        return ""
    kind = parameter.annotation
    text = kind if isinstance(kind, str) else getattr(kind, "__name__", str(kind))
    text = "" if kind is parameter.empty or text == "Any" else text
    if parameter.default is not parameter.empty:
        text += f" = {parameter.default!r}"
    return text.strip()


def listed(found: dict[str, str], signature: inspect.Signature | None) -> str:
    """Return entries as a list of definitions."""
    out = []
    for name, text in found.items():
        kind = _kind(name, signature)
        head = f"``{name}``" + (f" : ``{kind}``" if kind else "")
        out.append(f"{head}\n{indent(inline(text), '    ')}\n")
    return "\n".join(out)


def grouped(name: str, found: dict[str, str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield (heading, entries); what is in no group comes last."""
    groups = GROUPS.get(name)
    if groups is None:
        yield "Parameters", found
        return
    left = dict(found)
    for heading, names in groups.items():
        yield heading, {each: left.pop(each) for each in names.split()}
    if left:
        yield "Further parameters", left


def written(doc: str, name: str, signature: inspect.Signature | None) -> str:
    """Return a docstring in reStructuredText."""
    out = []
    for section, text in sections(doc):
        if section == "Args":
            for heading, found in grouped(name, entries(text)):
                out += [f".. rubric:: {heading}", listed(found, signature)]
        elif section in ("Attributes", "Raises"):
            out += [f".. rubric:: {_TITLES.get(section, section)}", listed(entries(text), None)]
        elif section:
            out += [f".. rubric:: {_TITLES.get(section, section)}", *body(text)]
        else:
            out += body(text)
    return "\n\n".join(out) + "\n"


def _signature(found: Any) -> inspect.Signature | None:
    try:
        return inspect.signature(found)
    except (TypeError, ValueError):
        return None


def process(app: Sphinx, what: str, name: str, found: Any, options: Any, lines: list[str]) -> None:
    """Rewrite the lines of a docstring in place."""
    if what == "module":
        return
    text = written("\n".join(lines), name.removeprefix("rational_anova."), _signature(found))
    lines[:] = text.splitlines()


def skip(app: Sphinx, what: str, name: str, found: Any, skipped: bool, options: Any) -> bool | None:
    """Leave out what members have from elsewhere, such as those of scikit-learn."""
    bare = getattr(found, "fget", None) or getattr(found, "__func__", None) or found
    module = getattr(bare, "__module__", None)
    if callable(bare) and module is not None and not module.startswith("rational_anova"):
        return True
    return None


def setup(app: Sphinx) -> dict[str, Any]:
    """Listen to autodoc."""
    app.connect("autodoc-process-docstring", process)
    app.connect("autodoc-skip-member", skip)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
