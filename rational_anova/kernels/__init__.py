"""Fast kernels behind `rational_anova.functional`: fused C on the CPU, Triton on CUDA.

Users switch nothing on. `info()` says what runs and why; `RAN_KERNELS=off|torch|c|triton`, or
`using(...)` for a part of a program, chooses otherwise.
"""

from ._ahead import Built as Built
from ._ahead import build as build
from ._build import Unavailable as Unavailable
from ._effects import Functions as Functions
from ._effects import Program as Program
from ._pick import asked as asked
from ._pick import attempt as attempt
from ._pick import info as info
from ._pick import pick as pick
from ._pick import using as using
from ._spec import Spec as Spec
