"""edit."""

from ._mixin import EditMixin as EditMixin
