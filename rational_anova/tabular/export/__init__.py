"""Models as formulas, code, SQL, ONNX and networks."""

from ._mixin import ExportMixin as ExportMixin
