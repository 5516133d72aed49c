"""What all views share: the door, the frame of a page, figures, and small parts."""

from ._door import Door as Door
from ._drop import drop_zone as drop_zone
from ._figures import COLOURS as COLOURS
from ._figures import Axis as Axis
from ._figures import band as band
from ._figures import bars as bars
from ._figures import dots as dots
from ._figures import draw as draw
from ._figures import escaped as escaped
from ._figures import figure as figure
from ._figures import line as line
from ._figures import rule as rule
from ._parts import card as card
from ._parts import formula as formula
from ._parts import heading as heading
from ._parts import notice as notice
from ._parts import number as number
from ._parts import numbers_table as numbers_table
from ._parts import progress_of as progress_of
from ._parts import text as text
from ._shell import ICON as ICON
from ._shell import Page as Page
from ._shell import Studio as Studio
from ._shell import View as View
from ._shell import add_view as add_view
