"""Certificates as JSON: everything they hold, without loss."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

from .._json import ODD, content_of, plain
from ._monotone import Monotone
from ._state import Layer
from ._theorem import Theorem
from ._units import UnitCertificate

if TYPE_CHECKING:
    from ._certificate import Certificate

FORMAT, VERSION = "rational-anova certificate", 1
_TEXTS = {"name", "margin", "increasing", "decreasing", "names", "format"}


def to_json(certificate: Certificate, indent: int | None) -> str:
    """Write a certificate; a number that JSON does not know is the text "inf", "-inf" or "nan"."""
    content = {"format": FORMAT, "version": VERSION, **certificate.to_dict()}
    return json.dumps(plain(content), indent=indent, allow_nan=False)


def from_json(kind: type[Certificate], source: str) -> Certificate:
    """Read what `to_json` wrote."""
    content = content_of(source, "certificate", VERSION)
    try:
        return kind(**_arguments(content))
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"this certificate is damaged: {error!r}") from error


def _arguments(content: dict[str, Any]) -> dict[str, Any]:
    read = {key: _read(key, value) for key, value in content.items()}
    units = [{**unit, "theorem": Theorem(**unit["theorem"])} for unit in read.pop("units")]
    return {
        **{key: value for key, value in read.items() if key not in ("format", "version", "gap")},
        "monotone": tuple(Monotone(**entry) for entry in read["monotone"]),
        "layers": tuple(Layer(**entry) for entry in read["layers"]),
        "units": tuple(_filled(UnitCertificate, unit) for unit in units),
    }


def _filled(kind: Any, entry: dict[str, Any]) -> Any:
    return kind(**{field.name: entry[field.name] for field in fields(kind)})


def _read(key: str, value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _read(name, part) for name, part in value.items()}
    if isinstance(value, list):
        return tuple(_read(key, part) for part in value)
    return ODD[value] if isinstance(value, str) and key not in _TEXTS else value


def as_dict(record: Any) -> dict[str, Any]:
    """Return a record as plain lists, dictionaries and numbers, with gaps beside the bounds."""
    found = asdict(record)
    found["units"] = [unit.to_dict() for unit in record.units]
    return {**found, "gap": record.gap}
