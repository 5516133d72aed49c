"""Effects that only rise or only fall: constrained fits, and proofs."""

from ._cone import Cone as Cone
from ._cone import Held as Held
from ._constrain import as_signs as as_signs
from ._constrain import constrain as constrain
from ._constrain import position as position
from ._constrain import proofs as proofs
from ._proof import Proof as Proof
from ._proof import proof_of as proof_of
