"""What a law claims and what is known of it, in plain words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ._errors import fitted
from ._expressions import readable_on, short
from ._records import Grade, Parameter, Rival

if TYPE_CHECKING:
    from ._law import Law


_EXACT = 1e-9  # a relative error below it is that of arithmetic
_FLOOR = 1.15  # times the error of a smooth function: as good as the noise allows
_FEW = 10  # rows to each input, and one more: fewer do not show where the noise begins
_ASTRAY = 5.0  # times its error: a law does not miss the outer part of the data by so much
_COMPARABLE = 0.05  # weight of a rival that is named
_LISTED, _LEAST = 4, 0.01  # rivals of a summary: how many, and their least weight
_RELATIVE = ("proportional", "log-normal")  # noise whose size is a share of the value
_LONGEST = 120  # letters of a formula within a sentence
_ROWS = 8  # outliers that a sentence names


# -- numbers


def brief(value: float | None) -> str:
    """Return a number with two digits, and without zeros in its exponent: 2e-13, 0.012."""
    if value is None:
        return "unknown"
    return f"{value:.2g}".replace("e-0", "e-").replace("e+0", "e").replace("e+", "e")


def percent(value: float) -> str:
    """Return a relative error as a share, or as a power of ten where it is tiny."""
    if 0.995 <= value < 10:
        return f"{100 * value:.0f}%"
    return f"{brief(100 * value)}%" if 1e-6 <= value < 10 else brief(value)


def digits_for(value: float, error: float) -> int:
    """Return how many digits a number needs to show two digits of its error; six at least."""
    if not (math.isfinite(error) and error > 0 and value):
        return 6
    return min(max(math.floor(math.log10(abs(value))) - math.floor(math.log10(error)) + 2, 6), 16)


def times(ratio: float) -> str:
    """Return how many times: 0.9, 3.2, 54, more than 1000."""
    if ratio > 1000:
        return "more than 1000 times"
    return f"{ratio:.2g} times" if ratio < 100 else f"{ratio:.0f} times"


def counted(operations: int) -> str:
    """Return how many operations a formula has."""
    return f"{operations} operation{'s' * (operations != 1)}"


def listed(words: Sequence[str]) -> str:
    """Return words as a sentence has them: a, b and c."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


# -- the law and its rivals


def title(law: Law) -> str:
    """Return the claim in a few words, for a heading."""
    named = f": {law.name}" if law.name and law.grade.claimed else ""
    return {
        Grade.ESTABLISHED: f"Law of {law.target}{named}",
        Grade.SEVERAL: f"One of several laws of {law.target}{named}",
        Grade.INTERPOLATION: f"No law of {law.target}, an interpolation",
        Grade.NOTHING: f"No law of {law.target}",
    }[law.grade]


def others(law: Law, weight: float) -> list[Rival]:
    """Return the rivals of at least this weight, the heaviest first, without the law itself."""
    return sorted(
        (r for r in law.rivals if not r.own and r.weight >= weight), key=lambda r: -r.weight
    )


def own(law: Law) -> Rival | None:
    """Return the law as it stands among its rivals; None if it was not weighed."""
    return next((rival for rival in law.rivals if rival.own), None)


def share(weight: float) -> str:
    """Return a weight in per cent; what is nearly all or nothing is said so."""
    if weight < 0.005:
        return "under 1%"
    return "over 99%" if weight > 0.995 else f"{100 * weight:.0f}%"


def called(law: Law, rival: Rival) -> str:
    """Return a rival by name and formula, the latter if it is short enough."""
    formula = f"{law.target} = {readable_on(rival.formula, law.names.symbols, law.box)}"
    if rival.name:
        return f"{rival.name} ({formula})" if len(formula) <= _LONGEST else rival.name
    return formula if len(formula) <= _LONGEST else "a formula of the list of rivals"


# -- the scatter: one figure for one law


def relative(law: Law) -> bool:
    """Return whether the scatter of a law is a share of its value."""
    return law.noise.model in _RELATIVE and math.isfinite(law.noise.scale)


def scatter(law: Law) -> str:
    """Return the error of a law in few words: relative to the value where noise is."""
    if relative(law):
        return f"scatter {percent(law.noise.scale)}"
    return f"rmse {brief(law.evidence.error * law.evidence.spread)}"


def noise(law: Law) -> str:
    """Return how measurements scatter about a law, without a full stop."""
    about, unit = law.noise, law.units.get(law.target, "")
    if relative(law):
        floor = f", and by {brief(about.floor)} besides" if about.floor > 0 else ""
        return f"measurements scatter by {percent(about.scale)} of the value{floor} ({about.model})"
    if about.model == "Poisson":
        return f"measurements scatter {_as_much(about.scale, 'counts do')} (Poisson)"
    if about.model == "given":
        return f"measurements scatter {_as_much(about.scale, 'their stated errors say')}"
    size = f"{brief(law.evidence.error * law.evidence.spread)}{f' {unit}' * bool(unit)}"
    part = percent(law.evidence.error)
    return f"the residual standard deviation is {size}, {part} of that of {law.target}"


def _as_much(scale: float, what: str) -> str:
    return f"as {what}" if not scale or 0.8 < scale < 1.25 else f"{times(scale)} as much as {what}"


# -- sentences


def sentences(law: Law) -> str:
    """Say what a law claims, how exact it is, how far it holds, and what is not known of it."""
    parts = [
        _claim(law), *law.doubts, _fit(law), _held_out(law), _outer(law), _numbers(law),
        _domain(law), _outliers(law), _groups(law),
    ]  # fmt: skip
    if law.evidence.stopped:
        parts.append("The search ran out of time; more time may find a better law.")
    return " ".join(_sentence(part) for part in parts if part.strip())


def _sentence(text: str) -> str:
    text = text.strip()
    return f"{text[0].upper()}{text[1:]}{'' if text.endswith(('.', '!', '?')) else '.'}"


def _claim(law: Law) -> str:
    """State the grade, and what it means here."""
    named = f"the {law.name} form" if law.name else "this formula"
    if law.grade is Grade.ESTABLISHED:
        about = own(law)
        weight = f" ({share(about.weight)} of the weight)" if about is not None else ""
        return f"Established: {law.target} follows {named}; no rival is as probable{weight}."
    if law.grade is Grade.SEVERAL:
        return f"One of several: {_several(law, named)}."
    if law.grade is Grade.INTERPOLATION:
        return (
            f"Interpolation: the formula describes the data with {counted(law.complexity)}, but is "
            "not supported as the law behind them."
        )
    return f"Nothing: {law.evidence.rows} rows with this noise are described as well by the mean."


def _several(law: Law, named: str) -> str:
    near, about = others(law, _COMPARABLE), own(law)
    if not near:
        return f"{named} fits {law.target}, but is not established"
    against = f", against {share(about.weight)}" if about is not None else ""
    rest = len(near) - 1
    more = f", nor from {rest} other{'s' * (rest > 1)}" if rest else ""
    rival = f"{called(law, near[0])} (weight {share(near[0].weight)}{against})"
    return f"the data do not distinguish {named if law.name else 'it'} from {rival}{more}"


def _fit(law: Law) -> str:
    found = law.evidence
    if found.error < _EXACT:
        return f"it fits all {found.rows} rows to rounding error ({brief(found.error)})"
    if law.grade is Grade.NOTHING:
        return ""
    if relative(law) or law.noise.model in ("Poisson", "given"):
        return f"over {found.rows} rows, {noise(law)}"
    text = f"over {found.rows} rows, {noise(law)}"
    if not math.isfinite(found.surrogate) or not found.surrogate:
        return text
    if found.error > _FLOOR * found.surrogate:
        return (
            f"{text}; a smooth nonparametric function reaches {percent(found.surrogate)}, so that "
            "a term may be missing"
        )
    if found.rows < _FEW * (1 + len(law.names)):
        return f"{text}; with so few rows, noise cannot be distinguished from a missing term"
    return f"{text}, and a smooth nonparametric function fits no better"


def _held_out(law: Law) -> str:
    """Compare rows that were not used; as a ratio, which no weights of rows can distort."""
    found = law.evidence
    if found.held_out is None or not law.grade.claimed or not math.isfinite(found.held_out):
        return ""
    start = "on held-out rows"
    if found.error >= _EXACT:
        return f"{start} its error is {times(found.held_out / found.error)} as large"
    if found.held_out < 1e-6:
        return f"{start} it is equally exact ({brief(found.held_out)})"
    return f"{start} its error is {percent(found.held_out)} of the standard deviation"


def astray(law: Law) -> bool:
    """Return whether the law misses the outer part of the data by more than a law would."""
    found = law.evidence
    usual = max(found.error, found.held_out or 0.0, _EXACT)
    return found.extrapolation is not None and found.extrapolation > _ASTRAY * usual


def _outer(law: Law) -> str:
    found = law.evidence
    if found.extrapolation is None or law.grade is Grade.NOTHING:
        return ""
    start, missed = "fitted to the inner half of the data, it", found.extrapolation
    beyond = "do not extrapolate it"
    if not math.isfinite(missed):
        return f"{start} is undefined in part of the outer half: {beyond}"
    if found.error < _EXACT:
        if astray(law):
            return f"{start} fails to predict the outer half: {beyond}"
        return f"{start} predicts the outer half as exactly ({brief(missed)})"
    ratio = missed / found.error
    if astray(law):
        return f"{start} predicts the outer half with {times(ratio)} its error: {beyond}"
    return f"{start} predicts the outer half with {times(ratio)} its error"


def _numbers(law: Law) -> str:
    free = [law.parameters[n] for n in fitted(law.parameters)]
    if not free:
        return "all its parameters are exact" if law.parameters else ""
    lost = [p.name for p in free if math.isinf(p.stderr)]
    if lost:
        return f"the data do not determine {listed(lost)}: other values fit equally well"
    known = [abs(p.stderr / p.value) if p.value else math.inf for p in free]
    if not all(map(math.isfinite, known)):
        return "the errors of some parameters are not known"
    worst = max(known)
    which = (
        "its fitted parameter is" if len(free) == 1 else f"its {len(free)} fitted parameters are"
    )
    if worst < _EXACT:
        return f"{which} known to rounding error"
    if worst > 1:
        vague = [p.name for p, error in zip(free, known, strict=True) if error > 1]
        of = f"{listed(vague)}, " if len(free) > 1 else "its fitted parameter, "
        return f"the data do not determine {of}whose standard error exceeds the value"
    return f"{which} known to {percent(worst)}{' or better' * (len(free) > 1)} (standard error)"


def _domain(law: Law) -> str:
    if law.domain.certified:
        return "it is proven to be defined everywhere in the range of the data"
    return law.domain.reasons[0]


def _outliers(law: Law) -> str:
    rows = [str(row) for row in law.outliers]
    if not rows:
        return ""
    if len(rows) > _ROWS:
        rows = [*rows[:_ROWS], f"{len(rows) - _ROWS} more"]
    one = len(law.outliers) == 1
    which = f"row {rows[0]} was treated as an outlier" if one else None
    return f"{which or f'rows {listed(rows)} were treated as outliers'} (rows are counted from 0)"


def _groups(law: Law) -> str:
    groups = law.groups
    if groups is None:
        return ""
    shared = f"share {listed(groups.shared)}" if groups.shared else "share no parameter"
    differ = f" and differ in {listed(groups.own)}" if groups.own else ""
    return f"the {len(groups.values)} groups of {groups.column} {shared}{differ}"


# -- the summary


def summary(law: Law) -> str:
    """Return several lines: the law, its claim, its numbers, rivals, how far it holds."""
    unit = f" [{law.units[law.target]}]" if law.target in law.units else ""
    head = [f"{law.target}{unit} = {short(law.rounded())}", ""]
    lines = [
        *_legend(law), *_grades(law), *_errors(law), *_parameters(law), *_table(law),
        *_rivals(law), *_ranges(law),
    ]  # fmt: skip
    return "\n".join([*head, *lines, "", law.trust])


def _legend(law: Law) -> Iterator[str]:
    for symbol, column in zip(map(str, law.names.symbols), law.names.columns, strict=True):
        if symbol != column:
            yield f"  {symbol} = {column!r}"


def _grades(law: Law) -> Iterator[str]:
    yield f"grade       {law.grade}"
    if law.name:
        yield f"name        {law.name}"


def _errors(law: Law) -> Iterator[str]:
    found = law.evidence
    yield f"noise       {_model(law)}"
    ratios = [("held out", found.held_out), ("extrapolated", found.extrapolation)]
    if found.error >= _EXACT:
        told = [f"{label} {times(v / found.error)}" for label, v in ratios if v is not None]
        if told:
            yield f"validation  {', '.join(told)} the error of the fit"
    yield f"complexity  {counted(law.complexity)}"


def _model(law: Law) -> str:
    """Return the noise model, its size, and how it stood among others."""
    found = law.evidence
    if relative(law) or law.noise.model in ("Poisson", "given"):
        text = noise(law).removeprefix("measurements ")
    else:
        part = (
            f"{percent(found.error)} of the standard deviation"
            if found.error >= _EXACT
            else "exact"
        )
        text = f"rmse {brief(found.error * found.spread)}, {part}"
    weights = sorted(law.noise.compared.items(), key=lambda item: -item[1])
    seen = ", ".join(f"{model} {share(w)}" for model, w in weights if w >= _LEAST)
    return f"{text}; weights: {seen}" if len(weights) > 1 else text


def _parameters(law: Law) -> Iterator[str]:
    bounds = law.intervals()
    for p in law.parameters:
        yield f"{p.name:<11} {_value(p, bounds[p.name])}{f'  {p.meaning}' * bool(p.meaning)}"
    # numbers in the formula itself have no line above, yet they were measured as well
    yield from (f"exact       {step}" for step in law.evidence.made_exact)


def _value(p: Parameter, bounds: tuple[float, float]) -> str:
    unit = f" {p.unit}" if p.unit not in ("", "1") else ""
    if p.given:
        return f"{p.value:.6g}{unit} given"
    unknown = "+- any" if math.isinf(p.stderr) else "+- unknown"
    error = f"+- {brief(p.stderr)}" if math.isfinite(p.stderr) else unknown
    digits = digits_for(p.value, p.stderr)
    interval = f"[{bounds[0]:.{digits}g}, {bounds[1]:.{digits}g}]"
    return f"{p.value:.{digits}g} {error}{unit} " + (
        f"= {short(p.exact)}, exact" if p.exact is not None else interval
    )


def _table(law: Law) -> Iterator[str]:
    """The numbers of each group, with their errors."""
    if law.groups is None or not law.groups.own:
        return
    heads = [law.groups.column, *law.groups.own]
    rows = [heads, *group_rows(law)]
    widths = [max(len(row[k]) for row in rows) for k in range(len(heads))]
    for row in rows:
        cells = [f"{row[0]:<{widths[0]}}"]
        cells += [f"{cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True)]
        yield f"  {'  '.join(cells)}"


def group_rows(law: Law) -> list[list[str]]:
    """Return a row for each group: its name, then each own number with its error."""
    assert law.groups is not None
    table = law.groups.values
    rows = []
    for place, group in enumerate(table.index):
        row = table.iloc[place]
        pairs = [(float(row[n]), float(row.get(f"{n} stderr", math.nan))) for n in law.groups.own]
        rows.append([str(group), *(_with_error(*pair) for pair in pairs)])
    return rows


def _with_error(value: float, stderr: float) -> str:
    return f"{value:.5g}" + (f" +- {brief(stderr)}" if math.isfinite(stderr) else "")


def _rivals(law: Law) -> Iterator[str]:
    about = own(law)
    if about is not None and about.weight < 1:
        yield f"weight      {share(about.weight)} of {len(law.rivals)} formulas"
    for rival in others(law, _LEAST)[:_LISTED]:
        yield f"rival       {share(rival.weight)}  {called(law, rival)}"


def _ranges(law: Law) -> Iterator[str]:
    for column, (low, high) in zip(law.names.columns, law.box, strict=True):
        unit = f" {law.units[column]}" if column in law.units else ""
        digits = digits_for(max(abs(low), abs(high)), (high - low) / 100)
        yield f"range       {column}: {low:.{digits}g} to {high:.{digits}g}{unit}"
    if law.domain.certified:
        wider = f", for a box up to {law.domain.widest:.3g} times as wide"
        yield f"domain      proven{wider if law.domain.widest > 1.01 else ''}"
    else:
        yield from (f"domain      {reason}" for reason in law.domain.reasons)
