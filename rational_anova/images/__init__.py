"""Sets of images in their canonical files: MNIST and its kin, SVHN, CIFAR, PolyU, class folders."""

from ._files import BadFile as BadFile
from ._files import data_folders as data_folders
from ._folder import ImageFolder as ImageFolder
from ._folder import folder as folder
from ._load import SETS as SETS
from ._load import load as load
from ._polyu import NoisyPairs as NoisyPairs
from ._polyu import polyu as polyu
from ._set import ImageSet as ImageSet
from ._set import holdout as holdout
