"""The frame of the page and its sections, each as HTML, all names escaped."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from .._core.display import visible
from ..discovery.law import Law, Rows, front, group_rows, noise, panels, relative, share, short
from ._math import readable

_MOST, _LEAST = 12, 0.001  # rivals of the table, and their least weight
_STYLE = """
:root{color-scheme:light dark;--ink:#1c1e21;--soft:#5f6670;--ground:#fff;--card:#f4f5f7;
--line:#d9dce1;--good:#1a7f4b;--bad:#b3541e}
@media (prefers-color-scheme:dark){:root{--ink:#e7e9ec;--soft:#a3abb5;--ground:#15171a;
--card:#1f2226;--line:#363b42;--good:#5bc48d;--bad:#f0a06a}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:60rem;padding:1.2rem;background:var(--ground);color:var(--ink);
font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;overflow-wrap:anywhere}
h1{font-size:1.5rem;margin:.2rem 0 1rem}h2{font-size:1.15rem;margin:2rem 0 .6rem}h3{font-size:1rem}
.law{background:var(--card);border-radius:12px;padding:1.4rem 1.2rem;overflow-x:auto}
.math{line-height:4.2;text-align:center}.math span{margin:0 .3rem;white-space:nowrap}
.math path{fill:currentColor}
.plain{font:600 1.2rem/1.6 ui-monospace,Menlo,Consolas,monospace}
.trust{border-left:4px solid var(--good);padding:.1rem 0 .1rem .9rem;margin:1.2rem 0}
.trust.no{border-color:var(--bad)}
.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;overflow-wrap:normal}
th,td{text-align:left;padding:.35rem .7rem .35rem 0;border-bottom:1px solid var(--line);
vertical-align:top}th{font-weight:600}td:not(.n){overflow-wrap:anywhere;min-width:3rem}td.n,th.n{text-align:right;
font-variant-numeric:tabular-nums}
.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,21rem),1fr));gap:1rem}
figure.wide{grid-column:1/-1}
figure{margin:0;background:var(--card);border-radius:12px;padding:.8rem}
figure svg{width:100%;height:auto;display:block}
figcaption{margin-top:.6rem}figcaption,.soft,footer{color:var(--soft);font-size:.9rem}
pre{background:var(--card);border-radius:8px;padding:.8rem;overflow-x:auto;
font:13px/1.45 ui-monospace,Menlo,Consolas,monospace;overflow-wrap:normal}
summary{cursor:pointer;padding:.3rem 0}footer{margin-top:2.5rem}
@media print{details>*{display:block}}
"""


def page(title: str, body: Iterable[str]) -> str:
    """Return a whole page that needs nothing else."""
    return visible(
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width,initial-scale=1">\n'
        # forbids whatever would be fetched, and the icon that browsers ask for by themselves
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        "style-src 'unsafe-inline'; img-src data:\">\n"
        '<link rel="icon" href="data:,">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(part for part in body if part)
        + "\n</main>\n</body>\n</html>\n"
    )


def section(heading: str, *parts: str) -> str:
    """Return a heading and what is under it; nothing if that is nothing."""
    content = "\n".join(part for part in parts if part)
    return f"<section>\n<h2>{escape(heading)}</h2>\n{content}\n</section>" if content else ""


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], numeric: int = 1) -> str:
    """Return a table whose columns from `numeric` on are numbers."""

    def cells(tag: str, row: Sequence[str]) -> str:
        kind = [' class="n"' if place >= numeric else "" for place in range(len(row))]
        return "".join(f"<{tag}{k}>{escape(c)}</{tag}>" for k, c in zip(kind, row, strict=True))

    lines = "\n".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    head = f"<thead><tr>{cells('th', heads)}</tr></thead>" if any(heads) else ""
    return f'<div class="scroll"><table>{head}<tbody>\n{lines}\n</tbody></table></div>'


def figure(svg: str, caption: str, wide: bool = False) -> str:
    """Return a plot with its caption, as wide as the page if asked."""
    kind = ' class="wide"' if wide else ""
    return f"<figure{kind}>{svg}<figcaption>{escape(caption)}</figcaption></figure>"


def listing(sentences: Iterable[str], ordered: bool = False) -> str:
    """Return sentences as a list."""
    tag = "ol" if ordered else "ul"
    items = "\n".join(f"<li>{escape(sentence)}</li>" for sentence in sentences)
    return f"<{tag}>\n{items}\n</{tag}>" if items else ""


def code(title: str, source: str) -> str:
    """Return source that can be unfolded."""
    return f"<details><summary>{escape(title)}</summary>\n<pre>{escape(source)}</pre></details>"


def coefficients(law: Law) -> str:
    """The numbers of the law with their errors, what they mean, and how they go together."""
    rows = []
    for p, (name, row) in zip(law.parameters, law.coefficients.iterrows(), strict=True):
        low, high = _number(row["low"], 6), _number(row["high"], 6)
        interval = low if low == "n/a" else f"{low} … {high}"
        interval = "exact" if row["exact"] else "given" if p.given else interval
        value = row["exact"] if len(row["exact"]) < 8 else _number(row["value"], 8)
        value = value or _number(row["value"], 8)
        value += f" {p.unit}" if p.unit not in ("", "1") else ""
        about = f"{name}: {p.meaning}" if p.meaning else str(name)
        rows.append((about, str(value), _number(row["stderr"], 2), interval))
    heads = ("", "value", "standard error", "95 % interval")
    if not rows:
        return "<p>The law has no fitted parameters.</p>"
    about = f"As they stand in {law.target} = {short(law.template)}."
    return table(heads, rows) + f'<p class="soft">{escape(about)}</p>' + _correlation(law)


def _correlation(law: Law) -> str:
    found = law.correlation
    if len(found) < 2 or not found.notna().all(axis=None):
        return ""
    rows = [
        (str(name), *(f"{found.iloc[i, j]:.2f}" if j <= i else "" for j in range(len(found))))
        for i, name in enumerate(found.index)
    ]
    return "<h3>Correlation of the parameters</h3>" + table(("", *map(str, found.columns)), rows)


def groups(law: Law) -> str:
    """The numbers that each group has of its own."""
    about = law.groups
    if about is None or not about.own:
        return ""
    told = f"They share {', '.join(about.shared)}. " if about.shared else ""
    told += "Parameters of the groups are shrunk towards their mean." if about.shrunk else ""
    note = f'<p class="soft">{escape(told.strip())}</p>' if told else ""
    return table((about.column, *about.own), group_rows(law)) + note


def evidence(law: Law) -> str:
    """Its errors, inside and outside of the data, and the noise model."""
    about = law.evidence
    told = noise(law)
    rows = [("Noise", f"{told[0].upper()}{told[1:]}"), *_weights(law), *_errors(law)]
    rows += [("Rows", f"{about.rows:,}"), ("Operations in the formula", str(law.complexity))]
    rows += [("Formulas compared", f"{about.candidates:,}")] if about.candidates else []
    rows += [("Time", f"{about.seconds:.1f} s")] if about.seconds else []
    note = ""
    if not relative(law):
        note = f"Errors are root mean squares, relative to the standard deviation of {law.target} "
        note = f'<p class="soft">{escape(note)}({_number(about.spread, 4)}).</p>'
    stopped = "<p>The search stopped at its time limit.</p>" if about.stopped else ""
    return table(("", ""), rows) + note + stopped


def _weights(law: Law) -> list[tuple[str, str]]:
    """How the models of noise compare."""
    models = sorted(law.noise.compared.items(), key=lambda item: -item[1])
    if len(models) < 2:
        return []
    return [("Noise models by weight", ", ".join(f"{m} {share(w)}" for m, w in models))]


def _errors(law: Law) -> list[tuple[str, str]]:
    """Errors by rows: shares of the spread, or ratios where the noise grows with the value."""
    about = law.evidence
    known = [
        ("Error on held-out rows", about.held_out),
        ("Extrapolation error: fitted to the inner half, tested on the outer", about.extrapolation),
    ]
    if relative(law):
        usual = about.error or math.nan
        told = [(name, v / usual) for name, v in known if v is not None]
        return [
            (name, f"{ratio:.2g} times that of the fit") for name, ratio in told if ratio == ratio
        ]
    known = [("Error of the fit", about.error), *known]
    known += [("Error of a smooth nonparametric function", about.surrogate)]
    return [(name, _error(v)) for name, v in known if v is not None and v == v]


def domain(law: Law) -> str:
    """The range of the data, and whether the law has a value everywhere in it."""
    rows = [
        (name + (f" / {law.units[name]}" if name in law.units else ""), f"{low:.6g}", f"{high:.6g}")
        for name, (low, high) in zip(law.names.columns, law.box, strict=True)
    ]
    ranges = table(("input", "from", "to"), rows) if rows else ""
    domain = law.domain
    if domain.certified:
        told = "The law is proven to be finite everywhere in this range of the data"
        more = f", and {domain.widest:.3g} times as wide" if domain.widest > 1.01 else ""
        return ranges + f"<p>{told}{more}.</p>"
    return (
        ranges
        + "<p>The law is not proven to be defined everywhere in this range:</p>"
        + listing(str(reason) for reason in domain.reasons)
    )


def plots(law: Law, rows: Rows | None) -> str:
    """All plots, those of `law.plot` and the front of complexity against error."""
    from ._plots import svg  # matplotlib takes a second to import

    found = panels(law, rows)
    best = front(law)
    found += [] if best is None else [best]
    drawn = [figure(svg(panel), panel.caption, panel.wide) for panel in found]
    return f'<div class="plots">{"".join(drawn)}</div>' if drawn else ""


def rivals(law: Law) -> str:
    """The formulas that were weighed against each other, the law among them."""
    found = [r for r in law.rivals if r.own or r.weight >= _LEAST][:_MOST]
    if len(found) < 2:
        return ""
    heads = ["weight", "name", "fitted parameters", "error", "formula"]
    rows = [
        [
            share(r.weight) + (" (this law)" if r.own else ""),
            r.name,
            str(r.parameters),
            _error(r.error),
            f"{law.target} = {_brief(r.formula)}",
        ]
        for r in found
    ]
    if relative(law):  # whose scatter is another figure
        for row in (heads, *rows):
            del row[3]
    left = len(law.rivals) - len(found)
    note = f'<p class="soft">{left} more have less weight.</p>' if left else ""
    return table(heads, rows, numeric=len(heads)) + note


def entries(law: Law) -> str:
    """The best formula of each complexity."""
    if len(law.pareto) < 2:
        return ""
    rows = [
        (
            str(entry.complexity),
            str(entry.parameters),
            _error(entry.error),
            f"{law.target} = {_brief(entry.formula)}",
        )
        for entry in sorted(law.pareto, key=lambda e: (e.complexity, e.error))
    ]
    heads = ("operations", "fitted parameters", "error in the search", "formula")
    return f"<h3>The best formula of each complexity</h3>{table(heads, rows, numeric=4)}"


def provenance(law: Law) -> str:
    """What the law was made from, and how."""
    rows = [(str(key), value) for key, value in _flat(law.provenance) if value]
    return table(("", ""), rows, numeric=2) if rows else ""


def _flat(content: Mapping[str, Any], before: str = "") -> Iterable[tuple[str, str]]:
    for key, value in content.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{key} ")
        elif isinstance(value, list | tuple):
            yield f"{before}{key}", ", ".join(map(str, value))
        else:
            yield f"{before}{key}", "" if value is None else str(value)


def _brief(formula: Any) -> str:
    whole = short(readable(formula, 6))
    return whole if len(whole) <= 160 else f"{whole[:157]}..."


def _error(value: float | None) -> str:
    """Return an error relative to the spread, in per cent where that reads well."""
    if value is None or math.isnan(value):
        return "n/a"
    return f"{100 * value:.3g}\N{NO-BREAK SPACE}%" if 1e-4 <= value < 10 else f"{value:.1e}"


def _number(value: float, digits: int) -> str:
    return "n/a" if math.isnan(value) else f"{value:.{digits}g}"
