"""What the user knows of the law: units of columns, a template with a hole, limits and shapes."""

from ._hole import discovered_with_hole as discovered_with_hole
from ._knowledge import Knowledge as Knowledge
from ._with_units import discovered_with_units as discovered_with_units
from ._with_units import with_parameter_units as with_parameter_units
