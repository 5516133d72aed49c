"""Tables of the experiments on certificates, for docs/results/certificates.md."""

from __future__ import annotations

from experiments.training_tables import Result, Rows, grouped


def soundness(result: Result) -> Rows:
    yield ["denominator", "units, one variable", "units, two", "points beyond a bound",
           "without a finite bound", "nearest to it, median", "batches with a pole"]  # fmt: skip
    groups = grouped(result["rows"], "denominator")
    for (kind,), rows in groups.items():
        one, two = (sum(r["units"] for r in rows if r["variables"] == v) for v in (1, 2))
        good = [row for row in rows if row["units"]]
        near = sorted(row["nearest"] for row in good)[len(good) // 2]
        yield [f"`{kind}`", f"{one:,}", f"{two:,}", str(sum(len(row["wrong"]) for row in good)),
               str(sum(row["unbounded"] for row in good)), f"{near:.4f}",
               str(len(rows) - len(good))]  # fmt: skip


def tightness(result: Result) -> Rows:
    yield ["variables", "denominator", "units", "certified / true, median", "largest",
           "theorem / true, median", "largest", "ms a unit"]  # fmt: skip
    for row in result["rows"]:
        yield [
            str(row["variables"]), f"`{row['denominator']}`", str(row["units"]),
            f"{row['median']:.4f}", f"{row['largest']:.4f}", f"{row['theorem']:.3g}",
            f"{row['theorem_largest']:.2g}", f"{1000 * row['seconds']:.2g}",
        ]  # fmt: skip


def networks(result: Result) -> Rows:
    yield ["network", "half width", "intervals and norms", "planes", "planes, 16 pieces",
           "range: before", "planes", "16 pieces", "s, 16 pieces"]  # fmt: skip
    for (name, width), rows in grouped(result["rows"], "network", "width").items():
        way = {row["way"]: row for row in rows}
        own = [way[one] for one in ("intervals and norms", "planes", "planes, 16 pieces")]
        yield [
            name, f"{width:g}", *(f"{row['lipschitz'] / row['met']:.3g}" for row in own),
            *(f"{row['range'] / row['spread']:.3g}" for row in own),
            f"{own[-1]['seconds']:.2g}",
        ]  # fmt: skip


def positivity(result: Result) -> Rows:
    yield ["polynomials", "number", "positive", "other than exact", "undecided"]
    for row in result["rows"]:
        yield [row["kind"], *(str(row[key]) for key in
                              ("polynomials", "positive", "disagree", "undecided"))]  # fmt: skip


def isometry(result: Result) -> Rows:
    rows = result["rows"]
    depths = next(row["depths"] for row in rows if "depths" in row)
    yield ["variant", "", *(f"{depth} block{'s' * (depth > 1)}" for depth in depths)]
    for (variant,), found in grouped(rows, "variant").items():
        cells = []
        for depth in depths:
            values = [row["measured"][depth - 1] for row in found]
            good = [value for value in values if value is not None]
            text = f"{min(good):.2g} to {max(good):.2g}" if good else ""
            lost = len(values) - len(good)
            text += f", {lost} of {len(values)} overflow" if lost else ""
            cells.append(text.removeprefix(", "))
        yield [variant, "measured", *cells]
        first = next(row for row in found if "depths" in row)
        yield ["", "proved", *(_pair(first["lower"][d - 1], first["upper"][d - 1]) for d in depths)]
        at = [first["depths"].index(depth) for depth in depths]
        yield [
            "",
            "theorem",
            *(_pair(first["paper_lower"][n], first["paper_upper"][n]) for n in at),
        ]


def _pair(low: float | None, high: float | None) -> str:
    return f"{0 if low is None else low:.2g} to {'inf' if high is None else f'{high:.2g}'}"


TABLES = {
    "soundness": ("certificates_soundness", soundness),
    "tightness": ("certificates_tightness", tightness),
    "networks": ("certificates_networks", networks),
    "positivity": ("certificates_positivity", positivity),
    "isometry": ("certificates_isometry", isometry),
}
