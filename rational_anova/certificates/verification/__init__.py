"""Networks of ONNX files and properties of VNN-LIB files."""

from ._entries import Unsupported as Unsupported
from ._verify import Verdict as Verdict
from ._verify import verify as verify
from ._vnnlib import PropertyError as PropertyError
