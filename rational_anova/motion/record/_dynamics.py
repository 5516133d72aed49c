"""`Dynamics`: equations of motion, with error bars and the evidence for them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy as sp

from ..._core import checks as check
from ..._core import records
from ..._core.fields import made
from ..._core.types import Array
from ...discovery import Grade, Groups, Law, Noise, Parameter
from ...symbols import Names
from ...tables import rows_of
from .._runs import Run
from .._simulate import Inputs, simulated
from .._system import System
from . import _analysis, _export, _files, _words
from ._records import Conserved, FixedPoint, Rival, Start

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class Dynamics:
    """A system of equations of motion found in time series. Its file does not hold the data.

    Args:
        equations: the law of each state's rate of change (of its next value, for a map).
        measured: names of the states that were measured; others are velocities.
        inputs: names of the inputs; the name of time among them, last, if anything depends on it.
        time: name of time.
        parameters: all numbers of the system.
        covariance: of the starts of all runs, state by state, and then of the parameters.
        starts: where each run begins.
        noise: standard deviation of the rows, by measured state; relative to the state where that
            is how it grows.
        explained: share of the variance of each measured state that the trajectories explain.
        rows: how many there were.
        grade: how much may be claimed: established, one of several, interpolation, nothing.
        doubts: reasons against a higher grade, one sentence each.
        rivals: systems that were compared, by decreasing weight.
        discrete: whether it is a map.
        seconds: that it took.
        candidates: how many systems were fitted to the trajectories.
        provenance: version, options, notes.
        noise_model: "constant" or "proportional", by measured state.
        name: what textbooks call the system, if they have it.
        units: of states, inputs and time, by name, if they are known.
        groups: parameters of each group, if there are groups; `parameters` are then those of a
            typical one.
        data: the runs, as long as the system is in memory.
    """

    equations: Mapping[str, Law]
    measured: tuple[str, ...]
    inputs: tuple[str, ...]
    time: str
    parameters: tuple[Parameter, ...]
    covariance: Array
    starts: tuple[Start, ...]
    noise: Mapping[str, float]
    explained: Mapping[str, float]
    rows: int
    grade: Grade
    doubts: tuple[str, ...] = ()
    rivals: tuple[Rival, ...] = ()
    discrete: bool = False
    seconds: float = 0.0
    candidates: int = 0
    provenance: dict[str, Any] = field(default_factory=dict)
    noise_model: Mapping[str, str] = field(default_factory=dict)
    name: str = ""
    units: Mapping[str, str] = field(default_factory=dict)
    groups: Groups | None = None
    data: tuple[Run, ...] | None = None

    # -- what it is

    @property
    def states(self) -> tuple[str, ...]:
        """Names of all states, in the order in which `simulate` takes and returns them."""
        return tuple(self.equations)

    @cached_property
    def names(self) -> Names:
        """Names of states and inputs, and their symbols."""
        return Names([*self.states, *self.inputs])

    @property
    def formulas(self) -> dict[str, sp.Expr]:
        """Right-hand sides with their numbers, by state."""
        return {name: law.formula for name, law in self.equations.items()}

    @property
    def stderr(self) -> dict[str, float]:
        """Standard error of each parameter."""
        return {p.name: p.stderr for p in self.parameters}

    @property
    def coefficients(self) -> pd.DataFrame:
        """Every number with its error: value, stderr, exact, unit."""
        import pandas as pd

        rows = {p.name: (p.value, p.stderr, p.exact, p.unit) for p in self.parameters}
        columns = ["value", "stderr", "exact", "unit"]
        return pd.DataFrame.from_dict(rows, orient="index", columns=columns)

    @cached_property
    def system(self) -> System:
        """The same as functions of arrays."""
        symbols = self.names.symbols
        size = len(self.states)
        right = tuple(law.template for law in self.equations.values())
        parameters = tuple(p.symbol for p in self.parameters)
        return System(symbols[:size], symbols[size:], parameters, right, self.discrete)

    @property
    def theta(self) -> Array:
        """Values of the parameters, in their order."""
        return np.array([p.value for p in self.parameters], dtype=float)

    def for_group(self, group: str) -> Dynamics:
        """Return the system of one group, with its own parameters."""
        known = [] if self.groups is None else list(self.groups.values.index)
        if self.groups is None or group not in known:
            raise ValueError(f"the system has no group {group!r}; there are {known}")
        laws = {
            name: replace(law, groups=self.groups).for_group(group)
            for name, law in self.equations.items()
        }
        own = {p.name: p for law in laws.values() for p in law.parameters}
        parameters = tuple(own.get(p.name, p) for p in self.parameters)
        starts = tuple(start for start in self.starts if start.group == group)
        # how the errors of the numbers of one group go together is not known
        errors = [*(e for start in starts for e in start.stderr), *(p.stderr for p in parameters)]
        data = None if self.data is None else tuple(r for r in self.data if r.group == group)
        rows = self.rows if data is None else sum(len(run.t) for run in data)
        return replace(
            self, equations=laws, parameters=parameters, covariance=np.diag(np.square(errors)),
            starts=starts, groups=None, data=data, rows=rows,
        )  # fmt: skip

    def deviations(self, states: Array) -> Array:
        """Return standard deviations of new measurements of states, (..., states); 0 if hidden."""
        out = np.zeros_like(states)
        for k, (name, scale) in enumerate(self.noise.items()):
            model = self.noise_model.get(name, "constant")
            out[..., k] = Noise(model, scale).deviation(states[..., k])
        return out

    # -- trajectories

    def simulate(self, x0: Any, t: Any, inputs: Any = None) -> Array:  # (times, states)
        """Return the states at times, from a start.

        Args:
            x0: states at the first time, in the order of `states`, or by name.
            t: times, rising; for a map, one for each step.
            inputs: if the system has any: a function of time that returns them in order, or values
                at the times of t, (times, inputs).

        Returns:
            States, nan from where the solution has ended, for instance at a pole.
        """
        times = np.asarray(t, dtype=float).reshape(-1)
        if not np.isfinite(times).all() or (np.diff(times) <= 0).any():
            raise ValueError("t must be finite times that rise")
        return simulated(self.system, self.theta, self._start(x0), times,
                         self._held(inputs, times))  # fmt: skip

    def _start(self, x0: Any) -> Array:
        if isinstance(x0, Mapping):
            missing = [name for name in self.states if name not in x0]
            if missing:
                raise ValueError(f"x0 lacks {missing[0]!r}; the states are {list(self.states)}")
            x0 = [x0[name] for name in self.states]
        start = np.asarray(x0, dtype=float).reshape(-1)
        if len(start) != len(self.states) or not np.isfinite(start).all():
            raise ValueError(
                f"x0 must have a finite number for each of {list(self.states)}, got {x0!r}"
            )
        return start

    def _held(self, inputs: Any, t: Array) -> Inputs:
        """Inputs as a function of time, with time itself last if the system wants it."""
        timed = self.time in self.inputs
        size = len(self.inputs) - timed
        given = _function(inputs, t, size)
        return (lambda time: np.r_[given(time), time]) if timed else given

    def forecast(
        self,
        t: Any,
        run: str | None = None,
        level: float = 0.95,
        noise: bool = False,
        inputs: Any = None,
        draws: int = 100,
        seed: int = 0,
    ) -> pd.DataFrame:
        """Return a forecast of a run, with a band by the errors of parameters and initial state.

        Args:
            t: times, not before the run begins.
            run: its label; the first by default.
            level: confidence level of the band.
            noise: if True, the band is that of a new measurement.
            inputs: as for `simulate`, at the times of t.
            draws: trajectories that the band is made of.
            seed: of the draws.

        Returns:
            A row for each time: states, and "x low" and "x high" for each state x.
        """
        check.integer(draws, "draws", 10)
        start = _analysis.start_of(self, run)
        own = self if self.groups is None else self.for_group(start.group)
        return _analysis.forecast(own, t, start.run, level, noise, inputs, draws, seed)

    # -- what follows from it

    def fixed_points(self, box: Any = None, inputs: Sequence[float] = ()) -> list[FixedPoint]:
        """Return the fixed points in a box, with their stability.

        Args:
            box: (low, high) for each state; by default the range of the data and half of it more
                on each side.
            inputs: values that the inputs are held at, if there are any.
        """
        return _analysis.fixed_points(self, box, np.asarray(inputs, dtype=float))

    def lyapunov(self, x0: Any = None, length: float | None = None) -> tuple[float, float]:
        """Return the largest Lyapunov exponent and its standard error, from a long simulation.

        Args:
            x0: start; the last state of the first run by default.
            length: of the simulation; twenty times that of the first run by default.
        """
        return _analysis.lyapunov(self, None if x0 is None else self._start(x0), length)

    def conserved(self) -> list[Conserved]:
        """Return conserved quantities: functions of states, constant on trajectories.

        Sums of powers, logarithms, sines, cosines and products of two states are tried; each
        is tested on the measured data, as long as they are in memory.
        """
        return _analysis.conserved(self)

    def dimensionless(self) -> tuple[dict[str, sp.Expr], dict[str, float]]:
        """Return right-hand sides in scaled states and time, and the scales by name.

        Scales are chosen so that as many factors of terms as possible are 1 or -1.
        """
        return _analysis.dimensionless(self)

    # -- words, files, pictures

    def latex(self, digits: int = 6, errors: bool = False) -> str:
        """Return the equations in LaTeX, aligned."""
        return _export.latex(self, digits, errors)

    def to_python(self) -> str:
        """Return the source of a function `rates(t, state)` for SciPy's integrators."""
        return _export.to_python(self)

    def to_c(self) -> str:
        """Return the source of a C function `rates(t, state, out)`."""
        return _export.to_c(self)

    def to_sbml_json(self) -> str:
        """Return species, parameters and rate rules as JSON, in the words of SBML."""
        return _export.to_sbml_json(self)

    def to_json(self) -> str:
        """Return all of it as JSON text."""
        return _files.to_json(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a JSON file, which appears whole or not at all."""
        records.save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Dynamics:
        """Read a file written by `save`."""
        found: Dynamics = records.load_kind(path, "dynamics")
        return found

    def plot(self) -> Figure:
        """Draw trajectories with the data, residuals, and the phase portrait."""
        from ._plot import plot  # matplotlib takes a second to import

        return plot(self)

    @property
    def trust(self) -> str:
        """How far it can be trusted, in a few plain sentences."""
        return _words.trust(self)

    def summary(self) -> str:
        """Return the equations, their standard errors and the grade, as text."""
        return _words.summary(self)

    def __str__(self) -> str:
        return "\n".join(_words.lines(self))

    def __repr__(self) -> str:
        return f"Dynamics({'; '.join(_words.lines(self))}, {self.grade})"


def _function(inputs: Any, t: Array, size: int) -> Callable[[float], Array]:
    """Inputs as a function of time: given as one, or as values straight between times."""
    if size == 0:
        if inputs is not None:
            raise ValueError("the system has no inputs; leave inputs out")
        return lambda time: np.empty(0)
    if inputs is None:
        raise ValueError("the system has inputs; give them as a function of time, or at the times")
    if callable(inputs):
        return lambda time: np.asarray(inputs(time), dtype=float).reshape(size)
    values = rows_of(inputs, [str(k) for k in range(size)]) if np.ndim(inputs) == 2 else (
        np.asarray(inputs, dtype=float).reshape(-1, 1))  # fmt: skip
    if values.shape != (len(t), size):
        raise ValueError(f"inputs must be ({len(t)}, {size}), got {values.shape}")
    return lambda time: np.array([np.interp(time, t, column) for column in values.T])


records.register(
    "dynamics",
    Dynamics,
    write=lambda dynamics: dynamics.to_json().encode(),
    read=lambda found: made(Dynamics, _files.arguments(found)),
)
