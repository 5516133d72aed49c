"""Searches and fits in worker processes: the queue of the server, and what a worker does."""

from ._jobs import KINDS as KINDS
from ._jobs import Job as Job
from ._laws import ROWS as ROWS
from ._queue import MEMORY as MEMORY
from ._queue import Work as Work
