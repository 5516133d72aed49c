"""What a law was made from, and how."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import __version__
from ..tables import Table


def provenance(table: Table, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the record of a law's making: version, rows, columns, options, notes on the table."""
    return {
        "version": __version__,
        "rows": len(table.y),
        "columns": list(table.names.columns),
        "options": dict(options),
        "notes": list(table.notes),
    }
