"""The views, in the order of the navigation; the first is the start page.

A view is a module with a `VIEW`; to add one, write it and give it a line here.
"""

from . import files, law, model, table, unit

VIEWS = (table.VIEW, law.VIEW, model.VIEW, unit.VIEW, files.VIEW)
