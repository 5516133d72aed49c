"""A fitted model that is looked at and edited: curves, drafts of edits, their effect, history."""

from ._session import FACTS as FACTS
from ._session import HELD as HELD
from ._session import MODEL as MODEL
from ._session import ROWS as ROWS
from ._session import Curve as Curve
from ._session import Impact as Impact
from ._session import Session as Session
from ._session import opened as opened
from ._shapes import WAYS as WAYS
from ._shapes import Draft as Draft
from ._steps import Step as Step
