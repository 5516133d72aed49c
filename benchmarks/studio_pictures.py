"""Pictures of docs/guides/studio.md: Table and Law views, light and dark, desk and phone.

python -m benchmarks.studio_pictures [--folder docs/figures/studio]

The table of the demonstration is searched for a minute. Needs what `benchmarks.studio` needs.
"""

from __future__ import annotations

import argparse
import io
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.studio import browser, running

DESK, PHONE = {"width": 1240, "height": 1000}, {"width": 390, "height": 800}
LONG = 200_000  # ms
COLOURS = 256  # of a picture: smaller files, and nothing that the eye misses


def picture(page: Any, path: Path) -> None:
    """Write what a page shows as a small PNG."""
    from PIL import Image

    page.wait_for_timeout(1200)  # curves and colours come to rest
    found = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    small = found.quantize(COLOURS, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    small.save(path, optimize=True)


def take(chromium: Any, link: str, folder: Path) -> None:
    """Walk from the table to two laws, and take the pictures on the way."""
    base = link.partition("/?")[0]

    def opened(address: str, dark: bool, size: dict[str, int] = DESK) -> Any:
        context = chromium.new_context(
            viewport=size, color_scheme="dark" if dark else "light", reduced_motion="reduce"
        )
        page = context.new_page()
        page.set_default_timeout(LONG)
        page.goto(link)
        page.goto(base + address)
        return page

    page = opened("/", False)
    picture(page, folder / "start-light.png")
    page.click("[data-testid=demo]")
    page.wait_for_selector("[data-testid=used] >> text=400 rows")
    table = page.url.removeprefix(base)
    picture(page, folder / "table-light.png")
    page.click("[data-testid=find-law]")
    page.wait_for_selector("[data-testid=best] [role=img]")
    page.wait_for_selector("[data-testid=live-figure] .main-svg")
    page.wait_for_timeout(3000)
    picture(page, folder / "search-light.png")
    page.wait_for_selector("[data-testid=slice] .main-svg")
    law = page.url.removeprefix(base)
    picture(page, folder / "law-light.png")
    page.evaluate("document.querySelector('[data-testid=front]').scrollIntoView()")
    page.evaluate("window.scrollBy(0, -70)")  # the header
    picture(page, folder / "front-light.png")
    page.click("[data-testid=forbid-power]")
    page.click("[data-testid=search-beside]")
    page.wait_for_selector("[data-testid=apart]")
    page.wait_for_selector("[data-testid=slice] .main-svg")
    picture(page, folder / "compare-light.png")
    for name, address in (("table", table), ("law", law), ("start", "/")):
        page = opened(address, True)
        waited = {"table": "[data-testid=used] .main-svg", "law": "[data-testid=slice] .main-svg"}
        page.wait_for_selector(waited.get(name, "main h1"))
        picture(page, folder / f"{name}-dark.png")
    for name, address in (("table", table), ("law", law)):
        page = opened(address, False, PHONE)
        page.wait_for_selector("main h1")
        picture(page, folder / f"{name}-phone.png")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path("docs/figures/studio"))
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place, running(place) as link, browser() as chromium:
        take(chromium, link, folder)


if __name__ == "__main__":
    main()
