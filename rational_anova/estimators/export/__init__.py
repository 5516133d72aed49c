"""Models as formulas, code, SQL and ONNX."""

from __future__ import annotations


class ExportMixin:
    """Filled in later."""
