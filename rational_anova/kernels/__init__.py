"""Fast kernels behind `rational_anova.functional`: fused C on the CPU, Triton on CUDA.

Users switch nothing on. `info()` says what runs and why; `RAN_KERNELS=off|torch|c|triton`, or
`using(...)` for a part of a program, chooses otherwise.
"""

from ._choice import asked as asked
from ._choice import attempt as attempt
from ._choice import info as info
from ._choice import pick as pick
from ._choice import using as using
from ._spec import Spec as Spec
