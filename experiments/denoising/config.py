"""config.toml as values: how all are trained, and which networks."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from experiments.results import read_config

FILE = Path(__file__).with_name("config.toml")
_OWN = ("family", "kind", "tuned")


class Protocol(NamedTuple):
    """How every network is trained."""

    steps: int
    crops: int  # in a batch
    size: int  # of a crop, in pixels
    rates: tuple[float, ...]  # tried in turn; validation chooses
    checks: int  # times that validation is looked at; the best weights stay
    margin: int  # cut off on all sides of validation pictures, to save time


class Setting(NamedTuple):
    """A network: its name in the results, family, kind and the arguments it is built with."""

    name: str
    family: str
    kind: str
    arguments: dict[str, Any]
    tuned: bool = False  # whether all rates are tried on it, for its family


def read(path: Path = FILE) -> tuple[Protocol, list[Setting]]:
    """Return what the file says."""
    table = read_config(path)
    training = table["training"]
    protocol = Protocol(**{**training, "rates": tuple(training["rates"])})
    settings = []
    for name, entry in table["models"].items():
        arguments = {k: v for k, v in entry.items() if k not in _OWN}
        settings.append(
            Setting(name, entry["family"], entry["kind"], arguments, entry.get("tuned", False))
        )
    return protocol, settings
