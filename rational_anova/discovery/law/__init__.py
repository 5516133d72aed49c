"""`Law`: a formula found in data, what it is made of, and what can be done with it."""

from ._domain import Domain as Domain
from ._expressions import operations as operations
from ._expressions import readable as readable
from ._expressions import short as short
from ._expressions import substitute as substitute
from ._expressions import text as text
from ._law import Law as Law
from ._records import Entry as Entry
from ._records import Evidence as Evidence
from ._records import Parameter as Parameter
from ._words import own_entry as own_entry
from ._words import rivals as rivals
