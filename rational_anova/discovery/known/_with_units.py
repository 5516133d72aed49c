"""Columns with units: the table in groups without a unit is searched, the law is put back."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import sympy as sp

from ..._core.types import Array
from ...symbols import Names
from ...tables import Table
from .._run import Options, split
from .._thresholds import CONCLUDED, EXACT, FEW_COLUMNS, SEARCHED
from .._weighing import discovered
from ..catalogue import NamedForm
from ..claims import catalogued, possible_noise
from ..dimensions import Groups, Units, Unsound, is_sound, parameter_units, pi_groups, read_units
from ..fitting import QUICK, Form, Rows, robust
from ..law import Evidence, Grade, Law, Parameter
from ._restored import Part, interrupted, parts_of, put_back, share, shortest, worse

_LEAST = 5  # rows
_NOISY = 1e-5  # leave-one-out error of a smooth curve above which the rows have noise
_UNEVEN = 3.0  # a scale that spans so much makes constant noise uneven
_COMMON = 2  # laws that textbooks have, not the rare ones
_TINY = 1e-13  # standard errors below any scatter: their ratios alone count
# A multiple of the one product that has the unit of the target: no formula of the same length is
# its rival, as others are of one that was searched for.
_BY_UNITS = NamedForm("dimensional analysis", "c0*x", field="units")


def discovered_with_units(
    table: Table, options: Options, units: Mapping[str, str], absorb: bool
) -> Law:
    """Return the law of a table whose columns have units.

    Numbers of the law have no units: columns and constants are combined to groups without a unit,
    and the target is divided by a product that has its units. Where no law is found in the groups,
    such as of differences of columns, the columns themselves are searched, and formulas that are
    sound are weighed with the others.

    Args:
        table: the whole table.
        options: of the discovery.
        units: of every column, the target and every constant.
        absorb: whether numbers may have units; groups are not formed then.

    Raises:
        Unsound: nothing made of the columns has the units of the target.
    """
    read = units_of(table, units)
    if absorb:
        return with_parameter_units(discovered(table, options), units, table)
    groups = pi_groups(read, table.X)
    used, notes = _usable(table, groups)
    parts: list[Part] = []
    seen: list[Evidence] = []
    for found, own, outliers in _searches(used, groups, options):
        parts += own
        seen.append(found)
        law = put_back(used, parts, options, _evidence(seen, groups, notes, options), outliers)
        if law.evidence.error < EXACT or law.grade.claimed:
            break
    known = {name: unit.text for name, unit in read.inputs.items()}
    numbers = tuple(replace(p, unit=known.get(p.name, "1")) for p in law.parameters)
    return replace(law, parameters=numbers, units=_labels(read), provenance={"notes": list(notes)})


def with_parameter_units(law: Law, units: Mapping[str, str], table: Table | None = None) -> Law:
    """Return a law with the units of its numbers, which carry what the columns leave over.

    Args:
        law: of columns with units.
        units: of every column, the target and every constant.
        table: of the law: columns that it left out, and constants, may have a unit, too.

    Returns:
        The law; one in which the units do not fit, whatever those of its numbers, with a doubt.
    """
    known = {p.name: p.value for p in law.parameters if p.given}
    known |= {} if table is None else dict(table.known)
    left_out = () if table is None else table.dropped
    wanted = {name: unit for name, unit in units.items() if name not in left_out}
    read = read_units(wanted, law.names.columns, law.target, known)
    # a form has its constants as numbers
    template = law.template.xreplace({sp.Float(v, 17): sp.Symbol(n) for n, v in known.items()})
    free = [p for p in law.parameters if not p.given]
    values = {p.symbol: p.value for p in free}
    texts = {name: unit.text for name, unit in read.constants.items()}
    doubts = law.doubts
    try:
        texts |= parameter_units(template, [p.symbol for p in free], read, values)
    except Unsound as error:
        doubts = (*doubts, f"By its units it is no law: {error}.")
    numbers = tuple(replace(p, unit=texts.get(p.name, "")) for p in law.parameters)
    grade = worse(law.grade, Grade.INTERPOLATION) if doubts != law.doubts else law.grade
    return replace(law, parameters=numbers, units=_labels(read), doubts=doubts, grade=grade)


def _evidence(
    seen: Sequence[Evidence], groups: Groups, notes: Sequence[str], options: Options
) -> Evidence:
    """How the first law was found, and all that was weighed for it."""
    return replace(
        seen[0],
        route=(f"By units: {groups}.", *notes, *seen[0].route),
        candidates=sum(each.candidates for each in seen),
        stopped=seen[-1].stopped or time.monotonic() > options.after(CONCLUDED),
    )


def units_of(table: Table, units: Mapping[str, str]) -> Units:
    """Read the units of a table; columns that were left out may have one."""
    if isinstance(units, Mapping):
        units = {k: v for k, v in units.items() if k not in table.dropped}
    return read_units(units, table.names.columns, table.target, table.known)


def _labels(units: Units) -> dict[str, str]:
    """Units as labels of columns and target."""
    every = {**units.columns, units.target: units.of_target}
    return {name: unit.text for name, unit in every.items() if unit.text != "1"}


# -- the reduced table


@dataclass(frozen=True)
class _Reduced:
    """A table without units, and what its columns and its target are in the first one."""

    table: Table
    columns: Mapping[sp.Symbol, sp.Expr]
    scale: sp.Expr
    size: Array  # the scale on the rows

    def restored(self, part: Part, taken: list[str]) -> Part:
        """Return a formula of the reduced table in the first columns."""
        part = part.renamed(taken)
        return part.put(self.scale * part.expression.xreplace(dict(self.columns)))

    def parts(self, law: Law, options: Options, table: Table, taken: list[str]) -> list[Part]:
        """Return a law of the reduced table and its rivals in the first columns."""
        first, *others = (self.restored(p, taken) for p in parts_of(law, options.forms))
        end = options.after(SEARCHED)
        return [shortest(first, table, taken, lambda: time.monotonic() > end), *others]

    @property
    def uneven(self) -> bool:
        """Whether errors that are even in the target are not so in the reduced one."""
        size = np.abs(self.size)
        return self.table.sigma is None and bool(size.max() > _UNEVEN * size.min())

    def weighted(self) -> _Reduced:
        """With the errors that the reduced target has where those of the target are even."""
        spread = float(np.std(self.table.y)) or 1.0
        even = spread * float(np.median(np.abs(self.size))) / np.abs(self.size)
        return replace(self, table=replace(self.table, sigma=_TINY * even))


def _usable(table: Table, groups: Groups) -> tuple[Table, tuple[str, ...]]:
    """The rows on which all groups have a value, and a note on the others."""
    good = groups.usable(table.X)
    if good.all():
        return table, ()
    if good.sum() < _LEAST:
        raise Unsound(
            f"only {good.sum()} rows have a value of {groups}: columns are zero, or negative below "
            "a root; say absorb_units=True to search the columns as they are"
        )
    note = f"{(~good).sum()} rows were left out, which have no value of {groups}."
    sigma, x_sigma, labels = (
        None if given is None else given[good]
        for given in (table.sigma, table.x_sigma, table.groups)
    )
    kept = replace(
        table, X=table.X[good], y=table.y[good], sigma=sigma, x_sigma=x_sigma, groups=labels
    )
    return kept, (note,)


def _reduced(table: Table, groups: Groups) -> _Reduced:
    """The table in groups; where there are none, in the scale that the target is a multiple of."""
    scale = groups.restore(sp.Integer(1))
    with np.errstate(all="ignore"):
        X, y = groups.reduce(table.X, table.y)
        size = groups.scale.of(_values(table), len(table.y))
    moving = [k for k in range(X.shape[1]) if np.ptp(X[:, k]) > 1e-12 * np.abs(X[:, k]).max()]
    names = Names([str(groups.formulas[k]) for k in moving])
    columns = {s: groups.formulas[k] for s, k in zip(names.symbols, moving, strict=True)}
    sigma = None if table.sigma is None else table.sigma / np.abs(size)
    reduced = replace(
        table, X=X[:, moving], y=y, names=names, target=f"{table.target}/({scale})", known={},
        sigma=sigma, x_sigma=None,
    )  # fmt: skip
    return _Reduced(reduced, columns, scale, size)


def _values(table: Table) -> dict[str, Array | float]:
    return {**dict(zip(table.names.columns, table.X.T, strict=True)), **table.known}


# -- what is searched

_Found = tuple[Evidence, list[Part], tuple[int, ...]]


def _searches(table: Table, groups: Groups, options: Options) -> Iterator[_Found]:
    """Search the groups, and fit named laws of them if there is noise; then search the columns.

    Named laws come second, since with units the numbers of a law are few and exact: one that fits
    would end the search before these are found.

    Yields:
        How it was done, formulas of the columns, rows that belong to none.
    """
    reduced = _reduced(table, groups)
    taken = [s.name for s in (*table.names.symbols, *map(sp.Symbol, table.known))]
    own = replace(
        options,
        forms=tuple(form for form in options.forms if form.field != "own"),
        periodic=_periodic(reduced, table, options),
        allowed=lambda fit: True,
    )
    if not reduced.columns:
        yield _multiple(table, groups, options, taken)
    else:
        first = share(replace(own, forms=()), 0.4)
        even = reduced.weighted() if reduced.uneven else reduced
        law = discovered(even.table, first)
        over = interrupted(law.evidence, first)
        parts = reduced.parts(law, options, table, taken)
        if law.evidence.surrogate > _NOISY and len(reduced.columns) <= FEW_COLUMNS and not over:
            parts += [reduced.restored(p, taken) for p in _named_laws(even.table, own)]
        yield replace(law.evidence, stopped=over), parts, law.outliers
        if over or time.monotonic() > options.after(CONCLUDED):
            return
    law = discovered(table, share(options, 1.0))
    raw = [p.renamed(taken) for p in parts_of(law, options.forms, table.known)]
    yield law.evidence, [p for p in raw if _sound(p, groups.units)], law.outliers


def _named_laws(table: Table, options: Options) -> Iterator[Part]:
    """Fit the laws of textbooks to the groups."""
    rows = Rows(table.X, table.y, table.sigma)
    rows = rows.some(split(len(rows.y), options.seed)[0])
    noise = possible_noise(rows, options.noise_model)[0]
    found = catalogued(
        [form for form in options.forms if form.common <= _COMMON], rows, table.names.symbols,
        noise, forbidden=options.forbidden,
        over=lambda: time.monotonic() > options.after(SEARCHED),
    )  # fmt: skip
    for candidate in found:
        form, named = candidate.fit.form, candidate.named
        meanings = list(named.parameters.values()) if named is not None else []
        numbers = zip(form.parameters, candidate.fit.values, meanings, strict=True)
        yield Part(
            form.expression,
            tuple(Parameter(p.name, float(v), meaning=m) for p, v, m in numbers),
            form.expression,
            named,
        )


def _periodic(reduced: _Reduced, table: Table, options: Options) -> tuple[str, ...]:
    """The columns of the reduced table that are angles."""
    angles = {table.names.symbol(name) for name in options.periodic}
    pairs = zip(reduced.table.names.columns, reduced.columns.values(), strict=True)
    return tuple(n for n, e in pairs if len(e.free_symbols) == 1 and e.free_symbols <= angles)


def _multiple(table: Table, groups: Groups, options: Options, taken: list[str]) -> _Found:
    """A number times the scale, exact if the rows allow it."""
    c = sp.Symbol("c0")
    size = groups.scale.of(_values(table), len(table.y))
    rows = Rows(size[:, None], table.y, table.sigma)
    form = Form(c * sp.Symbol("s"), (sp.Symbol("s"),), (c,))
    noise = possible_noise(rows, options.noise_model)[0]
    out = robust(form, rows, noise, QUICK) if options.robust else np.zeros(len(rows.y), dtype=bool)
    number = float(np.median(rows.y[~out] / size[~out]))
    part = Part(c, (Parameter("c0", number),), c).renamed(taken)
    part = shortest(part.put(groups.restore(part.expression)), table, taken)
    evidence = Evidence(rows=len(rows.y), noise=np.nan, error=np.nan, candidates=1, stage="units")
    return evidence, [replace(part, named=_BY_UNITS)], tuple(np.flatnonzero(out).tolist())


def _sound(part: Part, units: Units) -> bool:
    numbers = {p.symbol: p.number for p in part.parameters}
    return is_sound(part.expression.xreplace(numbers), units)
