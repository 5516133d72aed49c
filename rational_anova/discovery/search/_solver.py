"""The search: symmetries, then stages of growing cost on the reduced tables, then parts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import sympy as sp

from .._route import Joined, LinearIn, Linked, Separated
from .._thresholds import CLEAR, DEEPEST, EXACT, NO_NOISE, NO_SURROGATE, POOR_SURROGATE
from ..sums import EFFORT, Atom, Effort, pursued
from ..waves import spectral_lines
from ._candidate import Candidate
from ._judge import adequate, constant, finished, judged, near, polished, settled
from ._rates import scanned_rates
from ._reduce import hidden_factors, reduce_table
from ._reduced_table import ReducedTable
from ._separate import Split, exponential_sums, plain_sums, sums, varying, waving
from ._stages import lifts, null_space, rational_terms
from ._surrogate import definite
from ._template import Data, Template
from ._vocabulary import LINKS, USUAL, permitted

_SUMMED_COLUMNS = 3  # more are left to symmetries and parts
_BETTER = 0.5  # times the error of the smooth surrogate: no law of few numbers by chance
_QUICK = Effort(first=30, kept=6, tried=8, terms=4, inner=2)
_FEW = 3  # numbers of a law that few others could rival
_MANY_ROWS = 300  # on which sums of a noisy column can be told apart
_DECADE = 5.0  # ratio of the ends of a column whose logarithm may be what counts
_RARE = tuple(name for name in LINKS if name not in USUAL)
_PLAIN = ("y", "1/y")  # links of laws that are simple
_WIDE = Effort(kept=20)  # one variable is quick, and many functions of it are alike


@dataclass
class Counter:
    """What the parts of a search share: how many formulas were weighed, and the best so far.

    Attributes:
        candidates: how many formulas were weighed.
        stopped: whether the caller asked to stop.
        cut: whether the clock ended the search of the whole table before it was done.
        pool: the candidates of the whole table so far.
        found: its templates so far.
    """

    candidates: int = 0
    stopped: bool = False
    cut: bool = False
    pool: list[Candidate] = field(default_factory=list)
    found: list[Template] = field(default_factory=list)


@dataclass
class Search:
    """What a search may use, and what it knows so far; parts have copies of their own."""

    data: Data
    deadline: float
    counter: Counter
    forbidden: frozenset[str] = frozenset()
    report: Callable[[str], None] = lambda text: None

    functions: tuple[Atom, ...] = ()  # of a user, for sums
    content: bool = False  # a law at the level of the noise is there: others may but be simpler
    long: bool = True  # it has many numbers, or is not there

    @property
    def over(self) -> bool:
        """Whether the time is up."""
        return time.monotonic() > self.deadline or self.counter.stopped

    def links(self, noise: float) -> tuple[str, ...]:
        """Links of the target that are worth a look."""
        return _PLAIN if self.content and noise > CLEAR else USUAL

    def share(self, part: float) -> Search:
        """The same with a part of the time that is left."""
        now = time.monotonic()
        return replace(self, deadline=now + part * (self.deadline - now))


def solve(table: ReducedTable, search: Search, depth: int = 0) -> list[Template]:
    """Laws for one table, the best first; at most a dozen. A whole one comes with its surrogate."""
    if depth > 0:
        return searched(reduce_table(table, search.share(0.5).deadline), search, depth)
    # symmetries of what a surrogate follows a little take less time than waves; else more
    lost = table.loo > NO_SURROGATE
    found = separated(table, search.share(0.4), 0, plain_sums(table)) if lost else []
    if lost and not _exact(found):
        found += waved(table, search)
    if _exact(found):
        return finished([], found, search.data, search.forbidden)
    half = search.share(0.5).deadline
    chain = reduce_table(table, half)
    search.counter.cut |= time.monotonic() > half
    if not lost and min(t.loo for t in chain) > POOR_SURROGATE:
        found = waved(table, search)
        if _exact(found):
            return finished([], found, search.data, search.forbidden)
    return searched(chain, search, 0, found, whole=True)


def _exact(laws: Sequence[Template]) -> bool:
    return any(law.error < EXACT for law in laws)


def searched(
    chain: Sequence[ReducedTable],
    search: Search,
    depth: int,
    known: Sequence[Template] = (),
    whole: bool = False,
) -> list[Template]:
    """Laws for the last of a chain of tables, without a look for waves, beside those known.

    What is found for the whole table is told to the counter at once.
    """
    search, found = replace(search), list(known)  # its own, to be told what is found
    final = chain[-1]
    noise = max(min(s.loo for s in chain), 1e-15)
    pool: list[Candidate] = []
    looked_at = [final, *[s for s in chain[-2::-1] if s.U.shape[1] != final.U.shape[1]][:1]]
    for reduced in looked_at:
        for name, stage in stages(reduced, search, noise, depth, chain[0]):
            search.report(name)
            if callable(stage):
                found += stage()
            else:
                new = list(stage)
                search.counter.candidates += len(new)
                pool += new
            pool, done = judged(pool, noise)
            found += polished(pool, found, search.data)
            found.sort(key=lambda t: t.score)
            if whole:
                search.counter.pool, search.counter.found = pool, found
            if done or (found and settled(found[0], noise)):
                return finished(pool, found, search.data, search.forbidden)
            # of several surrogates the least error is a little too small, by chance; by more,
            # what was divided out is not the whole law
            own = min(max(noise, reduced.loo), near(len(reduced.y)) * noise)
            # a part has no noise of its own, but errors of the fit that freed it of the others
            if (own > NO_NOISE or depth > 0) and adequate(pool, found, own):
                search.content |= not _edged(found, own, reduced)
                search.long = _numbers(pool, found) > _FEW
                if depth > 0 and own < CLEAR and not search.long:
                    return finished(pool, found, search.data, search.forbidden)
            if search.over:
                break
        enough = not search.long or adequate(pool, found, noise)
        if search.over or (search.content and enough):
            break
    if whole:
        search.counter.cut |= time.monotonic() > search.deadline
    return finished(pool, found, search.data, search.forbidden)


def _numbers(pool: list[Candidate], found: list[Template]) -> int:
    """Free numbers of the best law so far."""
    laws = [(c.score, len(c.theta)) for c in pool[:1]]
    laws += [(t.score, len(t.parameters)) for t in found[:1]]
    return min(laws)[1]


def _edged(found: list[Template], noise: float, table: ReducedTable) -> bool:
    """Whether a law is so much better than the surrogate that this says nothing of the noise."""
    return bool(found) and table.U.shape[1] > 1 and found[0].error < _BETTER * noise


Stage = tuple[str, Iterator[Candidate] | Callable[[], list[Template]]]


def stages(
    table: ReducedTable, search: Search, noise: float, depth: int, whole: ReducedTable
) -> Iterator[Stage]:
    """Names and candidates of the stages, the cheapest first; fewer once the search is content."""
    r = table.U.shape[1]
    if r == 0:
        yield "power law", iter([constant(table)])
        return
    if noise < CLEAR:
        yield "rational projection", null_space(table)
    yield "few terms", rational_terms(table, search.links(noise), search.deadline)
    if search.functions and depth == 0 and whole.U.shape[1] <= _SUMMED_COLUMNS:
        # symmetries may have mixed the columns that the user's functions are of
        yield "sums", lambda: summed(whole, search.share(0.5), noise, _QUICK)
    yield from (_of_one if r == 1 else _of_more)(table, search, noise, depth)
    if search.content and noise <= CLEAR:
        return
    if r <= 2:
        known, links = noise if search.content else np.inf, search.links(noise)[:4]
        rates = scanned_rates(table, links, search.deadline, search.forbidden, known)
        for family in rates:
            yield "rates", family
    if r in (1, 3, 4):
        rest = _PLAIN if search.content else tuple(LINKS) if r > 2 else _RARE
        yield "lifts", lifts(table, rest, search.deadline, search.forbidden)


def _of_one(table: ReducedTable, search: Search, noise: float, depth: int) -> Iterator[Stage]:
    """Stages of one variable."""
    u, deadline, forbidden = table.U[:, 0], search.deadline, search.forbidden
    yield "lifts", lifts(table, search.links(noise), deadline, forbidden)
    if not definite(u) and (u != 0).all():
        for k in (2, 1):  # no negative powers of what changes sign: the target takes them
            over = table.divided(u**-k, table.variables[0] ** -k)
            yield "lifts", lifts(over, ("y",), deadline, forbidden)
    if depth == 0 and not search.content and table.loo > NO_NOISE:
        yield "spectral lines", lambda: lined(table, search)
    # with noise, sums of one column would mostly be what named laws and products are already
    clear, many = noise < CLEAR, search.long and len(u) >= _MANY_ROWS and depth == 0
    if clear or many:
        yield "sums", lambda: summed(table, search.share(0.5), noise, _QUICK)
    elif depth == 0 and not definite(u):
        yield "sums", lambda: exact_sums(table, search.share(0.5), noise)
    wide = bool((u > 0).all()) and u.max() > _DECADE * u.min()
    if clear and depth == 0 and wide and "log" not in table.forbidden:
        yield "sums of logarithms", lambda: summed(logged(table), search.share(0.4), noise, _QUICK)
    if depth < DEEPEST:
        yield "links", lambda: hidden(table, search.share(0.5), depth)
    if clear and not search.content:
        yield "sums", lambda: summed(table, search.share(0.6), noise, _WIDE)


def _of_more(table: ReducedTable, search: Search, noise: float, depth: int) -> Iterator[Stage]:
    """Stages of several variables."""
    r, clear, deeper = table.U.shape[1], noise < CLEAR, depth < DEEPEST
    summable = r <= _SUMMED_COLUMNS and depth == 0
    if summable:
        yield "sums", lambda: summed(table, search.share(0.5), noise, _QUICK)
    if deeper:
        yield "links", lambda: hidden(table, search.share(0.5), depth)
        yield "parts", lambda: separated(table, search.share(0.6), depth, sums(table, list(LINKS)))
    if deeper and clear:  # then coefficients are sharp, and quicker to see than lifts
        yield "varying coefficients", lambda: by_coefficients(table, search.share(0.6), depth)
    if r == 2:
        yield "lifts", lifts(table, search.links(noise), search.deadline, search.forbidden)
    if deeper and clear:
        yield "levels", lambda: separated(table, search.share(0.5), depth, exponential_sums(table))
    if deeper and not clear:
        yield "varying coefficients", lambda: by_coefficients(table, search.share(0.6), depth)
    if r == 2 and not search.content:  # a third of the time that rates take
        yield "lifts", lifts(table, _RARE, search.deadline, search.forbidden)
    if summable and clear:
        yield "sums", lambda: summed(table, search.share(0.6), noise, EFFORT)


def summed(table: ReducedTable, search: Search, noise: float, effort: Effort) -> list[Template]:
    """Laws that are sums of a few products of functions of single variables."""
    u = tuple(sp.symbols(f"_u0:{table.U.shape[1]}"))
    found: list[Template] = []
    longer = pursued(
        table.U, table.f, table.weight,
        atoms=search.functions, allowed=lambda formula: permitted(formula, search.forbidden),
        over=lambda: search.over, effort=effort,
    )  # fmt: skip
    for one in longer:
        law = table.expression(one.formula(u), u)
        template = Template.of(law, stage="sums", route=table.route).refined(search.data)
        search.counter.candidates += 1
        if np.isfinite(template.error):
            found.append(template.weighed(search.data))
    best = min((law.error for law in found), default=np.inf)
    if effort is _QUICK and EXACT < best < _BETTER * noise:
        # what has edges looks noisy to a smooth surrogate, and a sum does not mind them
        found += summed(table, search, noise, EFFORT)
    return sorted(found, key=lambda t: t.score)[:4]


def lined(table: ReducedTable, search: Search) -> list[Template]:
    """Laws that are sums of a few waves of one variable, or a modulated wave."""
    if {"sin", "cos"} & table.forbidden:
        return []
    u = tuple(sp.symbols("_u0:1"))
    found: list[Template] = []
    for some in spectral_lines(table.U[:, 0], table.f, table.weight):
        if search.over or some.error > _BETTER * table.loo * table.spread:
            continue
        for formula in some.formulas(u[0]):
            law = Template.of(table.expression(formula, u), stage="lines", route=table.route)
            law = law.refined(search.data)
            search.counter.candidates += 1
            if np.isfinite(law.error):
                found.append(law.weighed(search.data))
    return sorted(found, key=lambda t: t.score)[:4]


def logged(table: ReducedTable) -> ReducedTable:
    """The table of one variable with its logarithm in its place."""
    log = sp.log(table.variables[0])
    return table.reduced(np.log(table.U), (log,), Joined((table.variables[0],), log))


def exact_sums(table: ReducedTable, search: Search, noise: float) -> list[Template]:
    """Sums of one variable that are exact: a kink at zero looks noisy to a smooth surrogate."""
    return [law for law in summed(table, search, noise, _QUICK) if law.error < EXACT]


def waved(table: ReducedTable, search: Search) -> list[Template]:
    """Laws in the sine or cosine of a phase that no surrogate of the columns can follow."""
    if table.U.shape[1] < 2:
        return []  # one column has sums and lifts
    search.report("waves")
    out: list[Template] = []
    look = search.share(0.3)
    for smooth in waving(table, lambda: look.over):
        chain = reduce_table(smooth, look.share(0.5).deadline)
        sure = min(t.loo for t in chain) < CLEAR
        out += searched(chain, search.share(0.8) if sure else look.share(0.6), 0)
        if _exact(out):
            break
    return out


def hidden(table: ReducedTable, search: Search, depth: int) -> list[Template]:
    """Laws g(y) = u^a (...), where the power factor shows only once the link is taken."""
    if table.route and isinstance(table.route[-1], Linked):
        return []
    noise = table.loo * table.spread / np.maximum(table.weight, 1e-300)
    limit = min(0.1, max(0.01, 3 * table.loo))
    plain = hidden_factors(table, LINKS["y"])
    tried = []
    for name in LINKS:
        link = LINKS[name]
        if {link.function} & table.forbidden:
            continue
        if link.signed or name in ("y", "1/y") or not link.allowed(table.f, noise):
            continue  # powers and logs of a power factor are power factors themselves
        if link.inside(table.f).all():
            tried.append((hidden_factors(table, link), link))
    tried.sort(key=lambda t: t[0])
    out: list[Template] = []
    for violation, link in tried[:2]:
        if violation > limit or violation > 0.5 * plain or search.over:
            break
        out += solve(table.linked(link), search.share(0.6), depth + 1)
        if _exact(out):
            break
    return out


def separated(
    table: ReducedTable, search: Search, depth: int, splits: Iterable[Split]
) -> list[Template]:
    """Laws that are sums (or, of log y, products) of laws of fewer variables."""
    out: list[Template] = []
    for split in splits:
        if search.over:
            break
        product = split.link is None
        seen = table if split.link is None else table.linked(split.link)
        rows = np.arange(len(table.y))
        if product:
            rows = np.flatnonzero(np.abs(split.part) > 0.05 * np.abs(split.part).max())
            target = table.f[rows] / split.part[rows]
            weight = table.weight[rows] * np.abs(split.part[rows])
        else:
            target, weight = seen.f - split.part, seen.weight
        share = search.share(0.5)
        for law in solve_part(table, split.left, target, weight, share, depth, rows)[:2]:
            values = law.predict(search.data)
            rest = table.divided(values, law.law) if product else seen.lowered(values, law.law)
            if not np.isfinite(rest.f).all():
                continue
            right = list(split.right)
            rest = rest.reduced(
                table.U[:, right],
                _some(table, right),
                Separated(_some(table, split.left), _some(table, split.right), product),
            )
            out += solve(rest, search.share(0.7), depth + 1)
            if _exact(out):
                return out
    return out


def by_coefficients(table: ReducedTable, search: Search, depth: int) -> list[Template]:
    """Laws g0(rest) + phi(u) g1(rest)."""
    out: list[Template] = []
    for split in varying(table, search.forbidden):
        if search.over:
            break
        rest = [k for k in range(table.U.shape[1]) if k != split.variable]
        rows = np.flatnonzero(np.abs(split.phi) > 0.05 * np.abs(split.phi).max())
        target = (table.f - split.others)[rows] / split.phi[rows]
        weight = (table.weight * np.abs(split.phi))[rows]
        laws = solve_part(table, rest, target, weight, search.share(0.5), depth, rows)
        for law in laws[:2]:
            values = law.predict(search.data) * split.phi
            lowered = table.lowered(values, split.expression * law.law)
            if not np.isfinite(lowered.f).all():
                continue
            left = rest if split.alone else list(range(table.U.shape[1]))
            lowered = lowered.reduced(
                table.U[:, left],
                _some(table, left),
                LinearIn(split.expression, _some(table, rest)),
            )
            out += solve(lowered, search.share(0.7), depth + 1)
            if _exact(out):
                return out
    return out


def solve_part(
    table: ReducedTable,
    group: Sequence[int],
    target: np.ndarray,
    weight: np.ndarray,
    search: Search,
    depth: int,
    rows: np.ndarray | None = None,
) -> list[Template]:
    """Laws of one part, whose target was freed of the other part by a smooth fit."""
    chosen = np.arange(len(table.y)) if rows is None else rows
    index = list(group)
    part = ReducedTable(
        target,
        table.U[chosen][:, index],
        target.copy(),
        weight,
        _some(table, index),
        importance=weight,
        forbidden=table.forbidden,
        until=table.until,
    )
    data = replace(search.data.rows(chosen), y=target, weight=weight, spread=part.spread)
    if not np.isfinite(target).all():
        return []
    return solve(part, replace(search, data=data), depth + 1)


def _some(table: ReducedTable, group: Sequence[int]) -> tuple[sp.Expr, ...]:
    return tuple(table.variables[i] for i in group)
