"""The command `ran`."""

from ._app import app as app
