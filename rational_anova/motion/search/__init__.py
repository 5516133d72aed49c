"""The search for the terms of an equation of motion, in integral form."""

from ._integral import Equation as Equation
from ._integral import Problem as Problem
from ._integral import equations as equations
from ._integral import fitted_terms as fitted_terms
from ._maps import Stepped as Stepped
from ._maps import map_problems as map_problems
from ._problems import Smoothed as Smoothed
from ._problems import problems as problems
from ._terms import KINDS as KINDS
from ._terms import POLYNOMIAL as POLYNOMIAL
from ._terms import Term as Term
from ._terms import library as library
