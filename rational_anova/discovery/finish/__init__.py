"""From the best formulas of a search to a law."""

from ._evidence import holds as holds
from ._forms import digits as digits
from ._forms import forms as forms
from ._forms import rewritten as rewritten
from ._simplify import simplified as simplified
