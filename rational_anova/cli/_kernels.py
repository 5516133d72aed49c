"""`ran kernels`: what runs here, and kernels built ahead."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from ._console import console, say
from ._options import Quiet

kernels = typer.Typer(help="Compiled kernels: what runs here, and building them ahead.")


class Precision(str, Enum):
    """What numbers kernels are for."""

    single = "float32"
    double = "float64"


@kernels.command()
def build(
    models: Annotated[
        list[Path] | None,
        typer.Argument(metavar="MODEL", help="Networks written by save(): theirs instead."),
    ] = None,
    dtype: Annotated[
        list[Precision] | None, typer.Option(help="float32 or float64; both when left out.")
    ] = None,
    forms: Annotated[
        bool, typer.Option(help="Also a faster library for each common form of unit.")
    ] = True,
    quiet: Quiet = False,
) -> None:
    """Build the C kernels now, so that no first call waits for the compiler.

    Each takes some seconds, once for a machine; what is there already stays.
    """
    import logging

    import torch
    from torch import nn

    from .. import kernels as fast
    from .._core.records import load
    from ..units import common_forms, forms_of

    wanted = common_forms() if forms and not models else []
    for path in models or []:
        model = load(path)
        if not isinstance(model, nn.Module):
            raise ValueError(f"{path} holds no network, so there are no units to build kernels for")
        wanted += forms_of(model) if forms else []
    logging.getLogger(fast.__name__).setLevel(logging.ERROR)  # the lines below say it
    shown = console(quiet)
    chosen = [getattr(torch, one.value) for one in dtype or Precision]
    done = fast.build(wanted, chosen, lambda what: say(shown, f"{what} ..."))
    new = [one for one in done if one.seconds]
    taken, folder = sum(one.seconds for one in new), done[0].path.parent
    say(shown, f"{len(done)} libraries, {len(new)} new, in {taken:.1f} s; kept in {folder}")


@kernels.command()
def info() -> None:
    """Say which kernels run here, and why not the others."""
    from .. import kernels as fast

    shown = console()
    for name, value in fast.info().items():
        say(shown, f"{name}: {value}")
