"""The frame of the page: its style and its small parts, all names escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

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
    return (
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


def figure(svg: str, caption: str) -> str:
    """Return a plot with its caption."""
    return f"<figure>{svg}<figcaption>{escape(caption)}</figcaption></figure>"


def listing(sentences: Iterable[str], ordered: bool = False) -> str:
    """Return sentences as a list."""
    tag = "ol" if ordered else "ul"
    items = "\n".join(f"<li>{escape(sentence)}</li>" for sentence in sentences)
    return f"<{tag}>\n{items}\n</{tag}>" if items else ""


def code(title: str, source: str) -> str:
    """Return source that can be unfolded."""
    return f"<details><summary>{escape(title)}</summary>\n<pre>{escape(source)}</pre></details>"
