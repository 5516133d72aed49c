"""Edits of a fitted model: terms dropped, fixed or drawn, and the rest solved again."""

from ._mixin import EditMixin as EditMixin
