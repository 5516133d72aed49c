"""A studio in a process of its own and one browser, shared by all tests of this folder."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

pytest.importorskip("nicegui", reason="the studio needs the extra `studio`")

from rational_anova.studio import Workspace

CHROMIUM = next((found for name in ("chromium", "chromium-browser", "google-chrome")
                 if (found := shutil.which(name))), None)  # fmt: skip
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
DESK, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
LONG = 40_000  # ms: a machine may have other things to do
START = "from rational_anova.cli import app; app()"


@dataclass
class Running:
    """A studio that runs: its process, its link with the token, and its workspace."""

    process: subprocess.Popen
    link: str
    workspace: Path

    @property
    def address(self):
        return self.link.partition("/?")[0]

    def close(self):
        self.process.terminate()
        self.process.wait(20)
        self.process.stdout.close()


def launch(workspace, *options):
    """Start `ran studio` at a free port, and wait for its link."""
    alone = {k: v for k, v in os.environ.items() if k != "PYTEST_CURRENT_TEST"}
    process = subprocess.Popen(
        [sys.executable, "-c", START, "studio", "--workspace", str(workspace), "--port", "0",
         "--no-browser", *options],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env={**alone, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    said = process.stdout.readline()
    found = re.search(r"http://\S+", said)
    if found is None:
        said += process.communicate(timeout=20)[0]
        raise RuntimeError(f"the studio did not start: {said}")
    return Running(process, found[0], Path(workspace))


@pytest.fixture(scope="session")
def studio():
    """One studio for all tests; each looks at tables and runs of its own."""
    with tempfile.TemporaryDirectory() as folder:
        place = Workspace(folder)  # a run that was under way when its server was killed
        lost = place.new_run("discover", "0" * 16, {"choice": {"target": "y"}}, "law of nothing")
        place.keep(replace(lost, state="running"))
        running = launch(folder)
        yield running
        running.close()


@pytest.fixture(scope="session")
def browser():
    """One headless Chromium."""
    if CHROMIUM is None:
        pytest.skip("no chromium on this machine: apt-get install chromium")
    api = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    with api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield found
        found.close()


@pytest.fixture
def open_page(studio, browser):
    """A function that opens a page of the studio in a window of its own, and watches it.

    Every request that goes elsewhere, and every error of a script, fails the test at its end.
    """
    contexts, elsewhere, errors = [], [], []

    def look(request):
        if not request.url.startswith((studio.address, "data:", "blob:")):
            elsewhere.append(request.url)

    def opened(path="/", size=DESK, dark=False, running=studio):
        context = browser.new_context(
            viewport=size, color_scheme="dark" if dark else "light", accept_downloads=True
        )
        contexts.append(context)
        context.set_default_timeout(LONG)
        page = context.new_page()
        page.on("request", look)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(running.link)
        if path != "/":
            page.goto(running.address + path)
        page.wait_for_selector("main.page")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert not elsewhere
    assert not errors
