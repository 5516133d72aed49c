"""The studio in a browser: seconds from the command to the first law, and the weight of its pages.

python -m benchmarks.studio [--rounds 5] [--smoke]

Each round starts `ran studio` with a workspace of its own and a browser without a cache, takes the
table of the demonstration and searches for its law. Seconds on the clock of an idle machine; the
median of the rounds. Needs chromium, playwright and the extra `studio`. Writes
benchmarks/results/studio.csv.
"""

from __future__ import annotations

import argparse
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from benchmarks import records
from benchmarks.timing import Row, counted, show

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
STEPS = ("link printed", "start page", "table read", "first law on the page")
_LONG = 120_000  # ms
COLUMNS = ("what", "value", "low", "high", "unit", "rounds")


@contextmanager
def running(workspace: str) -> Iterator[str]:
    """Start the studio, and yield its link."""
    code = "from rational_anova.cli import app; app()"
    words = ["studio", "--workspace", workspace, "--port", "0", "--no-browser"]
    process = subprocess.Popen(
        [sys.executable, "-u", "-c", code, *words], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        found = re.search(r"http://\S+", process.stdout.readline())
        assert found is not None
        yield found[0]
    finally:
        process.terminate()
        process.wait(30)


@contextmanager
def browser() -> Iterator[Any]:
    """Start a headless Chromium."""
    from playwright.sync_api import sync_playwright

    path = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        yield found
        found.close()


def weight(chromium: Any, link: str, addresses: list[str]) -> float:
    """Return the kilobytes that pages bring over the wire to a browser without a cache."""
    context = chromium.new_context()
    page = context.new_page()
    page.set_default_timeout(_LONG)
    bytes_ = 0
    for address in [link, *addresses]:
        seen: list[Any] = []
        page.on("requestfinished", lambda request, seen=seen: seen.append(request))
        page.goto(address)
        page.wait_for_load_state("networkidle")
        bytes_ += sum(request.sizes()["responseBodySize"] for request in seen[:])
    context.close()
    return bytes_ / 1000


def once(chromium: Any) -> dict[str, float]:
    """Return the seconds of each step, and the weight of the pages."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.monotonic()
        with running(folder) as link:
            taken = {STEPS[0]: time.monotonic() - start}
            context = chromium.new_context()
            page = context.new_page()
            page.set_default_timeout(_LONG)
            page.goto(link)
            page.wait_for_selector("[data-testid=demo]")
            taken[STEPS[1]] = time.monotonic() - start
            page.click("[data-testid=demo]")
            page.wait_for_selector("[data-testid=find-law]")
            taken[STEPS[2]] = time.monotonic() - start
            page.click("[data-testid=find-law]")
            page.wait_for_selector("[data-testid=best] [role=img]")
            taken[STEPS[3]] = time.monotonic() - start
            law = page.url
            context.close()
            taken["start page, kB"] = weight(chromium, link, [])
            taken["start page and law, kB"] = weight(chromium, link, [law])
    return taken


def measure(rounds: int) -> list[Row]:
    """Measure all rounds and print them."""
    with browser() as chromium:
        found = [once(chromium) for _ in counted(rounds, "studio")]
    rows = []
    for what in found[0]:
        values = [one[what] for one in found]
        name = what.removesuffix(", kB")
        rows.append(
            {"what": name if "kB" in what else f"until: {what}",
             "value": round(statistics.median(values), 2), "low": round(min(values), 2),
             "high": round(max(values), 2), "unit": "kB" if "kB" in what else "s",
             "rounds": rounds}
        )  # fmt: skip
    show(rows, "the studio, from the command on", COLUMNS)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--smoke", action="store_true", help="once and unrecorded")
    options = parser.parse_args()
    rows = measure(1 if options.smoke else options.rounds)
    if not options.smoke:
        records.write("studio", rows)


if __name__ == "__main__":
    main()
