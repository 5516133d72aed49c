"""Formulas as MathML, which browsers draw by themselves: no script, no font from elsewhere."""

from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator


def _written(self: HTML5Translator, node: nodes.Element, block: bool) -> None:
    try:
        formula = tex2mathml(node.astext(), as_block=block)
    except MathError as error:
        raise ValueError(f"{node.source}: {node.astext()!r} cannot be written: {error}") from error
    kind = "div" if block else "span"
    self.body.append(self.starttag(node, kind, "", CLASS="math"))
    self.body.append(f"{formula}</{kind}>")
    raise nodes.SkipNode


def _inline(self: HTML5Translator, node: nodes.Element) -> None:
    _written(self, node, False)


def _block(self: HTML5Translator, node: nodes.Element) -> None:
    _written(self, node, True)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
