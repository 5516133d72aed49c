"""`discover_dynamics`: from time series to the differential equations behind them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import sympy as sp

from .. import __version__
from .._core import checks as check
from .._core.callbacks import Callback, Progress, checked, entered
from .._core.types import Array
from ..symbols import Names, names_in
from ._choice import Choice, Fitted, Side
from ._claims import judged
from ._finish import finished, with_shared
from ._recorded import recorded, state_names
from ._runs import LEAST_ROWS, LEAST_ROWS_OF_KNOWN, Series, read_series, with_indicators
from ._shooting import Rows
from ._units import MotionUnits
from .known import Given, Named, named_systems, read_known
from .record import Dynamics
from .search import (
    KINDS,
    Equation,
    Problem,
    Smoothed,
    Stepped,
    Term,
    equations,
    fitted_terms,
    library,
    map_problems,
    problems,
)

FUNCTIONS = ("sin", "cos", "tan", "cot", "exp", "log", "sqrt", "abs", "quotient")
NOISE_MODELS = ("auto", "constant", "proportional")
_LONGEST = {1: 8, 2: 6}  # terms of an equation: polynomials alone, and with others
_MARGIN = 30.0  # score behind the best up to which noisy rows leave an equation in the race
_ROWS_A_TERM, _FEWEST = 6, 2  # rows that each term must have; terms that are looked for anyway
_GROWS = 10.0  # score by which noise in proportion to the states must be better than constant noise
_SMALL = 0.02  # of the largest state: noise in proportion to it is not smaller than there
_EXACT = 3e-7  # relative to the spread: nothing more is looked for
_UNKNOWN = Given(sp.S.Zero, (), True)
_BENT = 0.5  # of the noise: so far are curves from the solution where terms are looked for again
_CLEANER = 0.2  # of the noise of smooth curves: rows of which so little is left have none
_GROUPS_ALONE = 4  # groups whose equations are looked for in their own rows, besides all rows
_NAMED = 6  # systems with a name whose trajectories are looked at
_SHORT = 3  # terms of an equation that is not shortened by other functions


@dataclass(frozen=True, eq=False)
class _Search:
    """What is looked for, on which data, until when.

    Attributes:
        data: the runs and smooth curves through them.
        choice: systems that were fitted.
        variables: symbols of states and inputs.
        without: functions that no term may have.
        known: right-hand sides that are given, by state.
        noise_model: the option of that name.
        units: of all columns, if they are known.
        limit: when to end.
        tell: called at every stage; True ends the search.
    """

    data: Smoothed | Stepped
    choice: Choice
    variables: tuple[sp.Symbol, ...]
    without: frozenset[str]
    known: Mapping[int, Given]
    noise_model: str
    units: MotionUnits | None
    limit: float
    tell: Callable[[str, Fitted | None], bool]


@dataclass(frozen=True)
class _Ways:
    """What kind of equations is wanted: the options of that name."""

    order: int
    discrete: bool
    autonomous: bool
    known: Mapping[str, str]
    without: frozenset[str]
    noise_model: str
    units: MotionUnits | None


def discover_dynamics(
    t: Any,
    X: Any,
    *,
    names: Sequence[str] | None = None,
    inputs: Sequence[str] = (),
    run: Any = None,
    by: Any = None,
    order: int = 1,
    discrete: bool = False,
    autonomous: bool = True,
    known: Mapping[str, str] | None = None,
    without: Sequence[str] = (),
    units: Mapping[str, str] | None = None,
    noise_model: str = "auto",
    time_limit: float = 120.0,
    callbacks: Sequence[Callback] | None = None,
) -> Dynamics:
    """Find the equations of motion behind time series, and say how much may be claimed of them.

    The data are smoothed, with the noise estimated, but never differentiated: terms are selected in
    integral form. The parameters, and the final selection, come from the trajectories of the whole
    system, by multiple shooting. Delays, hidden states and partial differential equations are not
    supported.

    Args:
        t: times of the rows, one column for each run; or the name of a column of X.
        X: states by column: an array (rows, states), a dict of columns, a DataFrame; a list of
            such for several runs, which may differ in times and length. nan is a missing
            measurement.
        names: of the columns; "x0", "x1", ... by default.
        inputs: columns that are known inputs or forcing, interpolated linearly, not states.
        run: the column that names the run of each row, or a label for each row.
        by: the column that names what each row belongs to, such as a subject, or a label for each
            row (for each run, if X is a list). All have the same equations; which parameters are
            shared is selected by BIC.
        order: 2 if X has positions only, and their accelerations are to be found.
        discrete: whether the rows are steps of a map, x[k + 1] = f(x[k]), at times one apart.
        autonomous: False if the right-hand sides may depend on time itself.
        known: right-hand sides that are known, such as {"x": "v"}; other names in them are
            parameters to be fitted, and "f" is the part to be found, as in {"v": "f - g*x"}.
        without: functions that no right-hand side may contain, out of sin, cos, tan, cot, exp, log,
            sqrt, abs, quotient.
        units: of every state, input and time, such as {"S": "mmol/L", "t": "min"}: dimensionally
            inconsistent terms, as exp(S), are left out, and parameters get units.
        noise_model: "constant", "proportional" to states above 0, or "auto": proportional if
            that is clearly more probable.
        time_limit: seconds after which the best system so far is returned.
        callbacks: functions of a `Progress`, called at every stage; one that returns True ends the
            search.

    Returns:
        The system. `dynamics.grade` says how much may be claimed: established, one of several,
        interpolation, nothing.

    Example:
        >>> t = np.linspace(0, 6, 60)
        >>> found = discover_dynamics(t, 5 / (1 + 4 * np.exp(-t)), names=["N"])
        >>> print(found)
        dN/dt = -N**2/5 + N
    """
    start = time.monotonic()
    if not check.real(time_limit, "time_limit") > 0:
        raise ValueError(f"time_limit must be a number of seconds above 0, got {time_limit!r}")
    if order not in (1, 2):
        raise ValueError(f"order must be 1 or 2, got {order!r}")
    if discrete and (order == 2 or not autonomous):
        raise ValueError("discrete cannot go with order=2 or autonomous=False; leave one out")
    if isinstance(without, str):
        raise TypeError(f"without must be a list of functions, got {without!r}")
    for name in without:
        check.choice(name, FUNCTIONS, "without")
    check.choice(noise_model, NOISE_MODELS, "noise_model")
    series = read_series(t, X, names, inputs, run, by, _least_rows(known))
    if noise_model == "proportional":
        _check_positive(series, discrete)
    _check_known(known, series)
    asked = {
        "order": order, "discrete": discrete, "autonomous": autonomous,
        "known": dict(known or {}), "without": list(without), "noise_model": noise_model,
        "units": dict(units or {}), "time_limit": time_limit,
    }  # fmt: skip
    with entered(checked(callbacks)) as tell, np.errstate(all="ignore"):
        measures = None if units is None else MotionUnits.of(
            units, series, state_names(series, order)
        )  # fmt: skip
        ways = _Ways(
            order, discrete, autonomous, known or {}, frozenset(without), noise_model, measures
        )

        def at(stage: str, now: Fitted | None) -> bool:
            return tell(_progress(stage, now, start, time_limit))

        search = _search(series, ways, start + time_limit, at)
        choice, best = _best(search)
        best = with_shared(choice, best)
        settled = finished(choice, best)
        verdict = judged(choice, best, settled, time.monotonic() > search.limit)
        provenance = {"version": __version__, "options": asked, "notes": list(series.notes)}
        return recorded(
            series, choice, best, settled, verdict, order=order, provenance=provenance,
            seconds=time.monotonic() - start, units=measures,
        )  # fmt: skip


def _least_rows(known: Mapping[str, str] | None) -> int:
    """Rows that there must be: fewer, where formulas for all states are given without a hole."""
    closed = known and not any("f" in names_in(str(formula)) for formula in known.values())
    return LEAST_ROWS_OF_KNOWN if closed else LEAST_ROWS


def _check_known(known: Mapping[str, str] | None, series: Series) -> None:
    """Refuse few rows where some state has no formula."""
    open_states = [name for name in series.states if name not in (known or {})]
    rows = sum(len(run.t) for run in series.runs)
    if open_states and rows < LEAST_ROWS:
        raise ValueError(
            f"there are {rows} rows, and to find the equation of {open_states[0]!r} takes "
            f"{LEAST_ROWS}; give its formula by known="
        )


def _check_positive(series: Series, discrete: bool) -> None:
    """Refuse noise in proportion to states that it cannot be in proportion to."""
    if discrete:
        raise ValueError("noise_model='proportional' is not for maps; leave one out")
    for k, name in enumerate(series.states):
        least = min(float(np.nanmin(run.X[:, k])) for run in series.runs)
        if least <= 0:
            raise ValueError(
                f"noise_model='proportional' needs states above 0, but {name!r} has {least:g}; "
                "use noise_model='auto'"
            )


def _progress(stage: str, now: Fitted | None, start: float, limit: float) -> Progress:
    seconds = time.monotonic() - start
    formula = None if now is None else "; ".join(sp.sstr(e) for e in now.system.right)
    return Progress(stage, seconds, formula=formula, left=limit - seconds)


def _search(
    series: Series, ways: _Ways, limit: float, tell: Callable[[str, Fitted | None], bool]
) -> _Search:
    """The search as it begins: data smoothed, symbols named."""
    timed = not ways.autonomous
    states = state_names(series, ways.order)
    symbols = Names([*states, *series.inputs, *([series.time] if timed else [])]).symbols
    given = read_known(ways.known, states, symbols, ways.order)
    groups = tuple(sp.Symbol(f"_group{k}") for k in range(len(series.groups)))
    place = len(states) + len(series.inputs)
    symbols = (*symbols[:place], *groups, *symbols[place:])
    runs = with_indicators(series.runs, series.groups)
    data: Smoothed | Stepped
    data = Stepped(runs) if ways.discrete else Smoothed.of(runs, ways.order, timed)
    rows = Rows.of(runs, timed, precise=bool(data.clean.any()))
    own, inputs = symbols[: len(states)], symbols[len(states) :]
    choice = Choice(data, rows, own, inputs, ways.discrete, limit, groups)
    return _Search(
        data, choice, symbols, ways.without, given, ways.noise_model, ways.units, limit, tell
    )


def _best(
    search: _Search,
    before: tuple[Choice, Fitted] | None = None,
    now: Fitted | None = None,
) -> tuple[Choice, Fitted]:
    """The most probable system, over vocabularies of more and more terms, and all others.

    Args:
        search: what is looked for, and where.
        before: what was found on the same rows before, kept if there is no time for more.
        now: the best system so far, if scores are the same.
    """
    found: list[list[Side]] | None = None
    tasks = _problems(search)
    terms = _vocabulary(search, tasks[0].values)
    named = _named(search, terms)
    search.choice.named = {system.key: system for system in named}
    ended, is_open = False, _is_open(search)
    for kinds in KINDS if is_open else KINDS[:1]:
        late = time.monotonic() > search.limit and (now or before) is not None
        ended = search.tell(f"equations of {kinds[-1]}s", now) or late
        if ended:
            break
        vocabulary = [term for term in terms if term.kind in kinds]
        if found is not None and len(vocabulary) == sum(t.kind == "polynomial" for t in terms):
            continue
        whole = _with_names(search, tasks, named) if found is None else ()
        longest = _LONGEST[min(len(kinds), 2)]
        found = _candidates(search, tasks, vocabulary, longest)
        for alone in _groups_alone(search):
            found = list(map(list.__add__, found, _candidates(*alone, vocabulary, longest)))
        now = search.choice.best(found, whole, now)
        if not search.data.clean.any() and _is_cleaner(search, now):
            return _best(_sharpened(search), (search.choice, now))
        if _is_exact(search, now):
            break
    if now is None and before is not None:
        return before
    if now is None:
        raise RuntimeError("the search was ended before it had begun")
    if not np.isfinite(now.score):
        raise ValueError(
            "the trajectories of no system could be fitted to the rows; if known= gives equations, "
            "leave a part of them open by f, or give others"
        )
    if ended:
        return search.choice, now
    if is_open and _is_bent(search, now):
        return _best(_followed(search, now), (search.choice, now), now)
    sizes = _growing(search, now)
    if sizes is None:
        return search.choice, now
    choice, again = _best(_weighted(search, sizes), (search.choice, now))
    worse = search.noise_model == "auto" and again.score > now.score
    return (search.choice, now) if worse else (choice, again)


def _is_open(search: _Search) -> bool:
    """Whether any equation has a part that is to be found."""
    return any(search.known.get(k, _UNKNOWN).open for k in range(len(search.choice.states)))


def _growing(search: _Search, now: Fitted) -> Array | None:
    """Sizes of the noise of all cells where it grows with the states; None where it does not."""
    data, rows = search.data, search.choice.rows
    if search.noise_model == "constant" or isinstance(data, Stepped) or data.clean.any():
        return None
    if data.sizes is not None:
        return None  # it is taken into account already
    sizes, known = np.ones(rows.X.shape), np.isfinite(rows.X)
    for k, (x, level) in enumerate(zip(rows.X.T, now.trajectories.nodes.T, strict=False)):
        own = known[:, k]
        if not (x[own] > 0).all():
            continue
        size = np.maximum(level, _SMALL * float(level.max()))
        size = size / np.exp(np.mean(np.log(size[own])))  # likelihoods can then be compared
        left = (x - level)[own]
        gain = len(left) * np.log(np.mean(left**2) / np.mean((left / size[own]) ** 2))
        if gain > _GROWS or search.noise_model == "proportional":
            sizes[:, k] = size
    return None if (sizes == 1).all() else sizes


def _named(search: _Search, terms: Sequence[Term]) -> list[Named]:
    """Systems of textbooks that may be in the data."""
    data, states = search.data, search.choice.states
    if isinstance(data, Stepped):
        return []
    found = named_systems(states, terms, data.order)
    return [n for n in found if all(len(_usable(search, s)) == len(s) for s in n.sides)]


def _with_names(
    search: _Search, tasks: Sequence[Problem], named: Sequence[Named]
) -> Iterator[list[Side]]:
    """Systems of textbooks, their numbers fitted in integral form."""
    hidden = len(search.choice.states) - len(tasks)
    if len(search.known) > hidden:
        return
    found: list[list[Equation]] = []
    for system in named:
        try:
            sides = zip(tasks, system.sides[hidden:], strict=True)
            found.append([fitted_terms(task, terms) for task, terms in sides])
        except ValueError:
            continue  # a term has no value on these rows
    found.sort(key=lambda sides: sum(side.score for side in sides))
    positions = [Side((), (), (), search.known[k].fixed) for k in range(hidden)]
    for best in found[:_NAMED]:
        fits = zip(best, tasks, strict=True)
        yield [*positions, *(Side.of(e, task.y, sp.S.Zero, 0) for e, task in fits)]


def _vocabulary(search: _Search, values: Array) -> list[Term]:
    """Terms in states and inputs that have values on the data, without what is ruled out."""
    if not _is_open(search):
        return []
    own = [k for k, symbol in enumerate(search.variables) if symbol not in search.choice.groups]
    found = library([search.variables[k] for k in own], values[:, own])
    return _usable(search, found)


def _usable(search: _Search, terms: Sequence[Term]) -> list[Term]:
    """Terms that are not ruled out, and sound in the units."""
    found = _allowed(terms, search.without)
    return found if search.units is None else search.units.sound(found)


def _groups_alone(search: _Search) -> Iterator[tuple[_Search, list[Problem]]]:
    """The search on the runs of one group, for some of the largest."""
    data = search.data
    labels = [run.group for run in data.runs]
    rows = {g: sum(len(r.t) for r in data.runs if r.group == g) for g in labels if g}
    for group in sorted(rows, key=lambda g: -rows[g])[:_GROUPS_ALONE]:
        here = [k for k, label in enumerate(labels) if label == group]
        runs = [data.runs[k] for k in here]
        if any(np.ptp(x[np.isfinite(x)]) == 0 for x in np.concatenate([r.X for r in runs]).T):
            continue  # at rest: its own rows say nothing of any term
        own = replace(data, runs=runs) if isinstance(data, Stepped) else data.part(here)
        alone = replace(search, data=own)
        yield alone, _problems(alone)


def _problems(search: _Search) -> list[Problem]:
    data = search.data
    if isinstance(data, Stepped):
        return map_problems(data, search.variables)
    return problems(data, search.variables)


def _candidates(
    search: _Search, tasks: Sequence[Problem], vocabulary: Sequence[Term], longest: int
) -> list[list[Side]]:
    """Right-hand sides for each state, the most probable first; what is known stays alone."""
    margin = np.inf if search.data.clean.any() else _MARGIN
    sides: list[list[Side]] = []
    hidden = len(search.choice.states) - len(tasks)  # positions, whose velocities are states
    for k in range(len(search.choice.states)):
        given = search.known.get(k, _UNKNOWN)
        if k < hidden:
            sides.append([Side((), (), (), given.fixed)])
            continue
        task = tasks[k - hidden].less(given.fixed)
        base = fitted_terms(task, given.terms)
        most = max(min(longest, len(task.y) // _ROWS_A_TERM), _FEWEST)
        found = equations(task, vocabulary, most, base, margin) if given.open else []
        held = len(given.terms)
        sides.append([Side.of(e, task.y, given.fixed, held) for e in (*found, base)])
    return sides


def _allowed(terms: Sequence[Term], without: frozenset[str]) -> list[Term]:
    """Terms without functions that are ruled out."""
    heads = {
        "sin": sp.sin, "cos": sp.cos, "tan": sp.tan, "cot": sp.cot, "exp": sp.exp, "log": sp.log,
        "abs": sp.Abs,
    }  # fmt: skip
    banned = tuple(heads[name] for name in without if name in heads)
    kept = [t for t in terms if not (banned and t.expression.has(*banned))]
    if "sqrt" in without:
        kept = [t for t in kept if not any(p.exp == sp.S.Half for p in t.expression.atoms(sp.Pow))]
    return [t for t in kept if "quotient" not in without or t.kind != "quotient"]


def _is_cleaner(search: _Search, now: Fitted) -> bool:
    """Whether a system leaves far less than the noise of the curves, which bend too slowly."""
    return bool((now.trajectories.noise < _CLEANER * search.data.noise).any())


def _is_bent(search: _Search, now: Fitted) -> bool:
    """Whether the smooth curves are off the best solution by what may hide terms."""
    data = search.data
    if isinstance(data, Stepped) or data.level is not None or data.clean.any():
        return False
    nodes, measured = now.trajectories.nodes, len(data.noise)
    off = np.sqrt(np.mean((nodes - data.nodes)[:, :measured] ** 2, axis=0))
    return bool((off > _BENT * data.noise).any())


def _followed(search: _Search, now: Fitted) -> _Search:
    """The search along the solution of a system: what curves made too smooth is there again."""
    old, data = search.choice, search.data
    assert isinstance(data, Smoothed)
    data = data.along(now.trajectories.nodes, now.trajectories.noise)
    seen = {key: f for key, f in old.seen.items() if np.isfinite(f.score)}
    return replace(search, data=data, choice=replace(old, data=data, seen=seen))


def _sharpened(search: _Search) -> _Search:
    """The search on rows without noise: curves interpolate, integrators are precise."""
    old = search.choice
    assert isinstance(search.data, Smoothed)
    data = Smoothed.of(search.data.runs, search.data.order, search.data.timed, exact=True)
    rows = Rows.of(data.runs, data.timed)
    return replace(search, data=data, choice=replace(old, data=data, rows=rows, seen={}))


def _weighted(search: _Search, sizes: Array) -> _Search:
    """The search with noise of these sizes."""
    old = search.choice
    assert isinstance(search.data, Smoothed)
    data = Smoothed.of(search.data.runs, search.data.order, search.data.timed, sizes=sizes)
    rows = Rows.of(data.runs, data.timed, precise=False, sizes=sizes)
    return replace(search, data=data, choice=replace(old, data=data, rows=rows, seen={}))


def _is_exact(search: _Search, now: Fitted) -> bool:
    spread = np.nanstd(search.choice.rows.X, axis=0)
    exact = (now.trajectories.noise < _EXACT * spread).all()
    return bool(exact) and max(len(side.terms) for side in now.sides) <= _SHORT
