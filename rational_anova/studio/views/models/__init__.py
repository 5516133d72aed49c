"""The parts of the Model view."""

from ._begin import begin as begin
from ._begin import tables_and_models as tables_and_models
from ._card import card_and_exports as card_and_exports
from ._edit import Editor as Editor
from ._effects import effects as effects
from ._pictures import curve_figure as curve_figure
from ._pictures import shares_figure as shares_figure
from ._pictures import surface_figure as surface_figure
from ._whatif import WhatIf as WhatIf
