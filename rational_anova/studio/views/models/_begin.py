"""Where a model begins: which table, what is to be predicted from what, and what must hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..._records import Choice, as_json
from ...pages import Page, card, heading, notice, text

_TASKS = {"auto": "Find out", "regression": "A number", "classification": "Classes"}
_PAIRS = {"auto": "Find them", "0": "None: curves only", "5": "At most 5", "20": "At most 20"}
_SIGNS = {0: "free", 1: "never falls", -1: "never rises"}
_MOST = 300  # inputs that a form lists


def tables_and_models(page: Page) -> None:
    """List tables to fit a model to, and models that are there."""
    from nicegui import ui

    tables = page.workspace.tables()
    with ui.element("div").classes("grid"):
        with card("Fit a model to a table", testid="model-tables"):
            if not tables:
                text("There is no table yet.", "soft", "p")
                with ui.element("a").props('href="/table"'):
                    text("Drop one in the Table view")
            with ui.element("ul").classes("links"):
                for entry in tables[:50]:
                    link = f'href="/model/{entry.hash}"'
                    with ui.element("li"), ui.element("a").props(link):
                        text(entry.name, "link-title")
        with card("Models"):
            runs = [run for run in page.work.runs.values() if run.kind == "fit_model"][::-1]
            listed_models(runs)


def listed_models(runs: list[Any]) -> None:
    """List runs of models as links."""
    from nicegui import ui

    if not runs:
        text("None yet.", "soft", "p")
    with ui.element("ul").classes("links"):
        for run in runs[:50]:
            with ui.element("li"):
                with ui.element("a").props(f'href="/model/{run.id}"'):
                    text(run.title or run.id, "link-title")
                text(str(run.state), "soft small")


def inputs_of(profile: Mapping[str, Any], choice: Choice) -> list[str]:
    """Return the inputs to begin with: all columns, less those that only name rows."""
    found = []
    for column in profile["columns"]:
        name, kind = column["name"], column["kind"]
        beside = name in (choice.target, choice.by, choice.sigma)
        names_rows = kind == "text" and column["unique"] > max(0.9 * profile["rows"], 20)
        if not beside and not names_rows and kind != "empty" and column["unique"] > 1:
            found.append(name)
    return found


class Form:
    """What is asked before a model is fitted."""

    def __init__(self, page: Page, table: str, profile: Mapping[str, Any]) -> None:
        self.page, self.table, self.profile = page, table, profile
        self.choice = page.workspace.choice(table)
        self.kinds = {column["name"]: column["kind"] for column in profile["columns"]}
        self.monotone: dict[str, int] = {}

    def build(self) -> None:
        """Put the form on the page."""
        from nicegui import ui

        self._rules = ui.refreshable(self._ask)
        names = list(self.kinds)[:_MOST]
        labels = {name: name for name in names}
        target = self.choice.target if self.choice.target in labels else names[-1]
        self.choice = replace(self.choice, target=target)
        form = card("What is to be predicted?", testid="model-form")
        with form, ui.element("div").classes("stack tight"):
            self.target = ui.select(
                labels, value=target, label="Target", on_change=self._changed
            ).props('outlined dense data-testid="model-target"')
            self.inputs = ui.select(
                labels, value=[n for n in inputs_of(self.profile, self.choice) if n in labels],
                label="Inputs", multiple=True,
                on_change=lambda: self._rules.refresh(),
            ).props('outlined dense use-chips data-testid="model-inputs"')  # fmt: skip
            with ui.element("div").classes("sliders"):
                self.task = ui.select(_TASKS, value="auto", label="The target is").props(
                    'outlined dense data-testid="model-task"'
                )
                self.pairs = ui.select(_PAIRS, value="auto", label="Effects of two inputs").props(
                    'outlined dense data-testid="model-pairs"'
                )
                self.limit = ui.number("Seconds at most", value=60, min=1, max=3600).props(
                    'outlined dense data-testid="model-limit"'
                )
            if self.choice.where:
                text(f"Rows: {', '.join(self.choice.where)}", "soft small", "p")
            with ui.expansion("What must hold").classes("plain-expansion"):
                self._rules()
            self.told = ui.element("div")
            ui.button("Fit the model", icon="tune", on_click=self._start).props(
                'data-testid="model-fit"'
            )
        text("A fifth of the rows is held out to evaluate the model, now and after each edit.",
             "soft small", "p")  # fmt: skip

    def _ask(self) -> None:
        """A select for each number: whether its effect must rise or fall, which is then proved."""
        from nicegui import ui

        text("An input that must rise or fall is not used in pairs; monotonicity is proved.",
             "soft small", "p")  # fmt: skip
        with ui.element("div").classes("sliders"):
            for name in self.inputs.value[:60]:
                if self.kinds[name] == "number":
                    ui.select(
                        _SIGNS, value=self.monotone.get(name, 0), label=name,
                        on_change=lambda event, n=name: self._hold(n, event.value),
                    ).props("outlined dense")  # fmt: skip

    def _hold(self, name: str, sign: int) -> None:
        self.monotone[name] = sign

    def _changed(self) -> None:
        self.choice = replace(self.choice, target=str(self.target.value))
        self.inputs.set_value([n for n in inputs_of(self.profile, self.choice) if n in self.kinds])

    def _start(self) -> None:
        chosen = tuple(n for n in self.kinds if n in self.inputs.value and n != self.target.value)
        self.told.clear()
        if not chosen:
            with self.told:
                notice("Choose an input or more, other than the target.", "bad")
            return
        choice = replace(self.choice, target=str(self.target.value), inputs=chosen)
        signs = {n: s for n, s in self.monotone.items() if s and n in chosen}
        pairs = self.pairs.value
        options = {
            "choice": as_json(choice), "task": self.task.value, "monotone": signs,
            "pairs": pairs if pairs == "auto" else int(pairs),
            "time_limit": float(self.limit.value or 60), "test": 0.2, "seed": 0,
        }  # fmt: skip
        run = self.page.work.start(
            "fit_model", self.table, options, title=f"{choice.target} of {len(chosen)} inputs"
        )
        self.page.go(f"/model/{run.id}")


def begin(page: Page) -> None:
    """Fill the page of a table: the form, and models of it that are there."""
    from nicegui import ui

    entry = page.workspace.table(page.item)
    profile = page.workspace.profile(page.item)
    heading(f"A model of {entry.name}", 1)
    if profile is None:
        notice("This table was not read yet.")
        with ui.element("a").props(f'href="/table/{page.item}"'):
            text("Open it in the Table view")
        return
    if len(profile["columns"]) < 2:
        notice("This table has one column only: there is nothing to predict it from.", "bad")
        return
    with ui.element("div").classes("two"):
        with ui.element("div").classes("stack"):
            Form(page, page.item, profile).build()
        with card("Models of this table"):
            listed_models(page.work.of_table(page.item, "fit_model"))
