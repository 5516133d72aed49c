"""Parts of the Law view: a search under way, a law, two laws side by side."""

from ._again import again as again
from ._compare import comparison as comparison
from ._live import Live as Live
from ._opened import Opened as Opened
from ._opened import opened as opened
from ._opened import warm as warm
from ._result import result as result
