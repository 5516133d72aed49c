"""From the best formulas of a search to a law."""

from ._assemble import assemble as assemble
from ._evidence import row_weights as row_weights
from ._forms import forms as forms
from ._forms import rewritten as rewritten
from ._simplify import simplified as simplified
