"""What is known of equations of motion before the search: by the user, and by textbooks."""

from ._given import Given as Given
from ._given import read_known as read_known
from ._named import Key as Key
from ._named import Named as Named
from ._named import named_systems as named_systems
from ._numbers import as_given as as_given
from ._numbers import called as called
