"""The numbers that the search and the finish decide by, in one place, each with its reason.

Where no experiment is named, a number was set by hand while the first half of the harder laws
(`experiments/discovery/run_harder --split tune`) was worked on; the other half was measured only.
Errors are root mean squares relative to the spread of the target unless it says otherwise.
"""

from __future__ import annotations

# -- time
SEARCHED = 0.85  # of the time limit: what the search may take
CONCLUDED = 0.93  # ... and all before the weighing

# -- exact or not
EXACT = 1e-10  # an error that no approximation of few terms reaches by chance
EXACT_LONG = 1e-12  # ... and one of more than FREE_NUMBERS
EXACT_NUMBERS = 12  # of a law that fits to rounding: a polynomial of more can follow any curve so
# Of 22 true laws without noise less than one rounding is left over; of sums of eight numbers that
# follow log gamma and Lambert's W to 13 digits, 33 and 73.
OVER_ROUNDING = 8.0  # roundings: with more left over, neighbours must not be missed alike
ROUNDING = 1e-13  # below this, errors are not told apart: a thousand roundings of float64

# -- rows
COMPARED_ROWS = 400  # that named laws and models of the noise are compared on
SEARCHED_ROWS = 3000  # that the search looks at
FITTED_ROWS = 20000  # that the numbers of the law are fitted to
FEW_ROWS = 40  # below, many laws fit as well, so that all stages are looked at

# -- columns
MOST_COLUMNS = 30  # that are searched in, unless the user names more

# -- the surrogate, a sum of Chebyshev polynomials
DEGREES = {1: 60, 2: 28}  # the highest degree for one and for two variables ...
MORE_DEGREES = 24  # ... and for more

# -- columns that do not matter; experiments/discovery/irrelevant measures it
WEAK_SLOPE = 0.25  # a column with less than this share of the strongest slope may not matter
WEAK_COLUMNS = 3  # so many weak columns are worth a look
COLUMN_GAIN = 0.97  # a column must bring the leave-one-out error down to this
COMPARED_TERMS = 150  # of the surrogates that are compared for it

# -- symmetries and parts
REDUCED_SLACK = 1.08  # by so much the leave-one-out error may grow with a symmetry ...
SPLIT_SLACK = 1.1  # ... and with a cut into parts
POOR_SURROGATE = 0.02  # leave-one-out error of a surrogate whose slopes are rough guides
NO_SURROGATE = 0.1  # ... and of one that says little of the table
EXACT_REDUCTION = 1e-8  # below this error any reduction is taken as exact
DEEPEST = 3  # how often a table may be cut into parts

# -- stages
NULL_SPACE_TERMS = 160  # columns of a null space
SCAN_ROWS = 200  # that the scan of rates looks at
SCAN_KEPT = {1: 3, 2: 6, 3: 4}  # supports of each size that are refined
SCAN_PROMISING = 120  # supports whose rates are sharpened
CLEAR = 1e-5  # leave-one-out error of a surrogate below which ways that want sharp rows are tried
LOUD_NOISE = 0.03  # leave-one-out error above which numbers are simple by chance: 25/4 or 2 pi
NO_NOISE = 1e-7  # leave-one-out error of a surrogate below which rows have no noise

# -- numbers
ALL_DIGITS = 60.0  # twice the nats of a number that is known to the last digit: 2 log(2**43)
WRITTEN_OUT = 12  # whole numbers, halves, thirds and quarters up to this are written out
WORSE = 6.8  # twice the log likelihood that a simpler number may cost: 2.6 standard errors squared

# -- what may be called a law; experiments/discovery/nothing measures it
COMPACT = 40  # operations of the longest formula
FREE_NUMBERS = 6  # free numbers of the longest
CHANCE = 10.0  # by so much, in twice the log likelihood, a law must beat a constant
ROUGH_LAW = 0.1  # with more of the spread left over, what is left is looked at
SHAPE = 4.5  # standard deviations: neighbours more alike than that are not so by chance
WEAK_LAW = 0.3  # a law with more of the spread left over needs more to be believed

# -- algebra: what is larger is not begun, by hand. Of some eighty tables of Feynman's equations
# -- (none and 1 % of noise) the formulas that got shorter had 135 terms and 61 operations at most,
# -- all but one of them 45 terms. Calls of `finish` took half a second at most; a proof by sympy's
# -- simplify may take several.
LONGEST = 120  # operations beyond which no other way to write a law is looked for
FACTORED_TERMS = 200  # over one denominator, for common denominators, factors and roots
CANCELLED_TERMS = 100  # ... for common divisors and for multiplying out
PARTIAL_TERMS, PARTIAL_DEGREE = 40, 4  # ... for partial fractions; the degree of the denominator
PARTIAL_SYMBOLS = 9  # ... and its symbols, numbers among them
PROVEN_TERMS = 200  # ... for a proof that two formulas are one
EXPANDED_TERMS = 2000  # of a sum that is multiplied out for it, without a common denominator
SIMPLIFIED = 40  # operations of what `simplify` is asked to do in such a proof

# -- named laws
FEW_COLUMNS = 2  # up to which they are tried on the columns themselves

# -- claims; experiments/measurements measures them. Scores are minus twice a log probability
OVER_CHANCE = 10.0  # by so much a formula must be more probable than a mean
OVER_SMOOTH = 10.0  # ... and than a smooth curve of no given form
WELL_OVER_SMOOTH = 45.0  # ... for more than one of several
COMPARABLE = 0.2  # of the weight of the best: another law of so much is level with it
ROWS_ALONE = 4.0  # score without the prior: a rival so near is behind by its prior only
MOST_OF_IT = 0.6  # share of the posterior that an established law has at least
FEW_NUMBERS = 4  # that an established formula without a name may have, under noise
FEW_NAMED_NUMBERS = 5  # ... and one with a name: three exponentials follow any decay
MISSTATED = 1.5  # times the stated errors: rows that scatter so much speak against the formula
STABLE = 0.75  # how often the choice must be the same on four fifths of the rows
NEIGHBOURS = 2.6  # standard deviations, as SHAPE, for a doubt: one in 200 by chance ...
STRONG_SHAPE = 4.5  # ... and for more than a doubt
RESIDUAL_SHAPE = 4.0  # evidence of a smooth curve in what is left over
NOT_NOISE = 1e-4  # probability of the effects in what is left over: below, it is no noise
UNLIKELY = 0.005  # probability of so much lack of fit by chance
ASTRAY = 0.002  # probability of missing the outer part by so much


def exact_below(numbers: int) -> float:
    """Return the error below which a formula with so many free numbers is exact."""
    return EXACT if numbers <= FREE_NUMBERS else EXACT_LONG
