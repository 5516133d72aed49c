"""Which task a target means, how good a model is on rows held out, and its card."""

from ._card import Facts as Facts
from ._card import card as card
from ._card import effects_of as effects_of
from ._card import gaps_of as gaps_of
from ._card import inputs_table as inputs_table
from ._card import known_edit as known_edit
from ._card import limits as limits
from ._card import number as number
from ._tasks import TASKS as TASKS
from ._tasks import Task as Task
from ._tasks import held_out as held_out
from ._tasks import inputs_and_target as inputs_and_target
from ._tasks import measures as measures
from ._tasks import scores as scores
from ._tasks import task_of as task_of
