"""One named form: a formula with free parameters and what is known of it."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import sympy as sp

from ...symbols import check_formula, names_in, parse

_NAME = re.compile(r"(?<![\w.])[^\W\d]\w*")  # not the e of 1.e5
_USUAL = ("x", "z")  # inputs of a form that does not say which


@dataclass(frozen=True)
class NamedForm:
    """A formula in inputs and free parameters, and what is known of it.

    Args:
        name: as a textbook has it.
        formula: text in the inputs and in free names, which are the parameters.
        field: where it belongs, such as "thermal".
        holds: where it holds, in a sentence.
        parameters: what each parameter means; those left out have the meaning "".
        inputs: names in the formula that are inputs; if none are given, x, and z where it occurs.
        aliases: its other names.
        positive: parameters that make sense only if they are positive.
        common: 1 if every textbook has it, 2 if those of its field do, 3 if it is rare.
        called: beginnings of the names that its input goes by, for a form that makes sense in one
            unit only, such as temperatures in Celsius; on other columns it is less probable.

    Example:
        >>> form = NamedForm("bleaching", "a + b*exp(-t/tau)", inputs=("t",), positive=("tau",))
        >>> tuple(form.parameters)
        ('a', 'b', 'tau')
        >>> form.on("minutes").formula
        'a + b*exp(-minutes/tau)'
    """

    name: str
    formula: str
    field: str = "own"
    holds: str = ""
    parameters: Mapping[str, str] = dataclasses.field(default_factory=dict, hash=False)
    inputs: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    positive: tuple[str, ...] = ()
    common: int = 1
    called: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for key in ("name", "formula", "field", "holds"):
            _text(getattr(self, key), key, self)
        for key in ("inputs", "aliases", "positive", "called"):
            object.__setattr__(self, key, _texts(getattr(self, key), key, self))
        if self.common not in (1, 2, 3) or isinstance(self.common, bool):
            raise self._error(f"common must be 1 (every textbook has it), 2 or 3 (rare), "
                              f"got {self.common!r}")  # fmt: skip
        names = self._names()
        object.__setattr__(self, "inputs", self.inputs or self._usual_inputs(names))
        free = tuple(name for name in names if name not in self.inputs)
        object.__setattr__(self, "parameters", self._meanings(free))
        self._check_names(names, free)

    @cached_property
    def expression(self) -> sp.Expr:
        """The formula in plain symbols, one for each input and each parameter."""
        names = (*self.inputs, *self.parameters)
        return parse(self.formula, {name: sp.Symbol(name) for name in names})

    def expects(self, columns: Sequence[str]) -> bool:
        """Return whether the form may be looked for on columns of these names.

        Example:
            >>> form = NamedForm("melting", "a*exp(-b/(x + 273.15))", called=("temp", "t"))
            >>> form.expects(["Temperature"]), form.expects(["dose"])
            (True, False)
        """
        if not self.called:
            return True
        return any(c.casefold().startswith(n) for c in columns for n in self.called)

    def on(self, *columns: str, taken: Collection[str] = ()) -> NamedForm:
        """Return the form with columns in the place of its inputs.

        A parameter that has the name of a column gets an underscore.

        Args:
            columns: one symbol for each input, in their order.
            taken: further names that parameters must not have, such as those of other columns.
        """
        if len(columns) != len(self.inputs):
            raise self._error(f"it has {len(self.inputs)} input(s), {', '.join(self.inputs)}; "
                              f"got {len(columns)} column(s): {', '.join(columns)}")  # fmt: skip
        new = dict(zip(self.inputs, columns, strict=True))
        kept = set(self.parameters) - {*columns, *taken}
        for name in self.parameters:
            new[name] = (
                name if name in kept else _free(name, {*columns, *taken, *new.values()} | kept)
            )
        return dataclasses.replace(
            self,
            formula=_NAME.sub(lambda match: new.get(match[0], match[0]), self.formula),
            parameters={new[name]: meaning for name, meaning in self.parameters.items()},
            inputs=columns,
            positive=tuple(new[name] for name in self.positive),
        )

    def _names(self) -> tuple[str, ...]:
        try:
            check_formula(self.formula)
            return names_in(self.formula)
        except ValueError as error:
            raise self._error(str(error)) from error

    def _usual_inputs(self, names: tuple[str, ...]) -> tuple[str, ...]:
        found = tuple(name for name in _USUAL if name in names)
        if not found:
            raise self._error(f"the formula {self.formula!r} has neither x nor z; name its inputs, "
                              f"for example inputs=({next(iter(names), 'x')!r},)")  # fmt: skip
        return found

    def _meanings(self, free: tuple[str, ...]) -> dict[str, str]:
        """Return the meaning of each parameter in the order of the formula."""
        if not isinstance(self.parameters, Mapping):
            raise TypeError(f"the form {self.name!r}: parameters must map names to meanings, "
                            f"got {self.parameters!r}")  # fmt: skip
        for name, meaning in self.parameters.items():
            if name not in free:
                raise self._error(f"parameters has {name!r}, which is no free name of the formula "
                                  f"{self.formula!r}; it has {_listed(free)}")  # fmt: skip
            _text(meaning, f"the meaning of {name}", self)
        return {name: self.parameters.get(name, "") for name in free}

    def _check_names(self, names: tuple[str, ...], free: tuple[str, ...]) -> None:
        missing = [name for name in self.inputs if name not in names]
        constant = len(self.inputs) == len(names) == 1  # may do without its input
        if missing and not constant:
            raise self._error(f"the formula {self.formula!r} lacks the input {missing[0]!r}")
        for name in self.positive:
            if name not in free:
                raise self._error(f"positive has {name!r}, which is no parameter; "
                                  f"there are {_listed(free)}")  # fmt: skip
        for key in ("inputs", "aliases", "positive"):
            values = getattr(self, key)
            twice = [value for place, value in enumerate(values) if value in values[:place]]
            if twice:
                raise self._error(f"{key} has {twice[0]!r} twice")

    def _error(self, message: str) -> ValueError:
        return ValueError(f"the form {self.name!r}: {message}")


def _text(value: object, key: str, form: NamedForm) -> None:
    if not isinstance(value, str):
        raise TypeError(f"the form {form.name!r}: {key} must be text, got {value!r}")
    if not value.strip() and key in ("name", "formula"):
        raise ValueError(f"the form {form.name!r} ({form.formula!r}): {key} must not be empty")


def _texts(values: object, key: str, form: NamedForm) -> tuple[str, ...]:
    if isinstance(values, str) or not isinstance(values, list | tuple):
        raise TypeError(f"the form {form.name!r}: {key} must be a list of names, got {values!r}")
    for value in values:
        _text(value, f"every entry of {key}", form)
    return tuple(values)


def _free(name: str, used: Collection[str]) -> str:
    while name in used:
        name = f"{name}_"
    return name


def _listed(names: Collection[str]) -> str:
    return ", ".join(names) or "none"
