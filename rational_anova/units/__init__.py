"""The units as modules: learnable rational functions of one and of two variables."""

from ._bivariate import Rational2d as Rational2d
from ._fit import Fit as Fit
from ._fit import FitError as FitError
from ._fit import fit_function as fit_function
from ._forms import common_forms as common_forms
from ._forms import forms_of as forms_of
from ._own import ContractError as ContractError
from ._own import check_entry as check_entry
from ._own import register as register
from ._own import unregister as unregister
from ._symbolic import number as number
from ._symbolic import symbols as symbols
from ._unit import RationalUnit as RationalUnit
from ._univariate import Rational1d as Rational1d
