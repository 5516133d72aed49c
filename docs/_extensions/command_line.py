"""The reference of `ran`, made from the app itself: `{ran-commands}` in a page."""

import re
from collections.abc import Iterator
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from typer.main import get_command


def _options(command: Any, context: Any) -> Iterator[str]:
    """Yield a row of Markdown for each argument and option."""
    for each in command.get_params(context):
        record = each.get_help_record(context)
        if record is not None:
            word, text = (cell.replace("|", "\\|") for cell in record)
            yield f"| `{word}` | {_escaped(text)} |"


def _escaped(text: str) -> str:
    """Return plain help as Markdown that reads the same."""
    plain = text.replace("\\[", "[").replace("\n", " ").strip()
    return re.sub(r"([*_<>\[\]])", r"\\\1", plain)


def _escaped_paragraphs(text: str) -> str:
    return "\n\n".join(_escaped(part) for part in re.split(r"\n\s*\n", text.strip("\n\f ")))


def pages() -> Iterator[str]:
    """Yield the Markdown of each command, a section each."""
    from rational_anova.cli import app

    root: Any = get_command(app)
    context = root.make_context("ran", [], resilient_parsing=True)
    yield f"```text\n{root.get_usage(context)}\n```\n"
    rows = list(_options(root, context))
    if rows:
        yield "\n".join(["| option of `ran` itself | |", "|---|---|", *rows]) + "\n"
    for name in root.list_commands(context):
        command = root.get_command(context, name)
        if command.hidden:
            continue
        inner = command.make_context(name, [], parent=context, resilient_parsing=True)
        yield f"## ran {name}\n"
        yield _escaped_paragraphs(command.help or "") + "\n"
        yield f"```text\n{command.get_usage(inner)}\n```\n"
        yield "\n".join(["| argument or option | |", "|---|---|", *_options(command, inner)]) + "\n"


class Commands(SphinxDirective):
    """All commands with their arguments and options."""

    has_content = False

    def run(self) -> list[nodes.Node]:
        """Return the sections."""
        self.env.note_reread()
        lines = "\n".join(pages()).splitlines()
        holder = nodes.section()
        holder.document = self.state.document
        self.state.nested_parse(StringList(lines, "ran --help"), 0, holder, match_titles=True)
        return list(holder.children)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("ran-commands", Commands)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
