"""Surgery on models of others: rational units in the place of their activations."""

from ._activations import replace_activations_ as replace_activations_
from ._feed_forward import replace_feed_forward_ as replace_feed_forward_
from ._files import load_converted as load_converted
from ._files import reapply_ as reapply_
from ._places import recognise as recognise
from ._report import Change as Change
from ._report import Size as Size
from ._report import SurgeryReport as SurgeryReport
from ._swap import SharedUnit as SharedUnit
