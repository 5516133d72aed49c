"""Certificates as JSON: everything they hold, without loss."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

from ._monotone import Monotone
from ._state import Layer
from ._theorem import Theorem
from ._units import UnitCertificate

if TYPE_CHECKING:
    from ._certificate import Certificate

FORMAT, VERSION = "rational-anova certificate", 1
_ODD = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
_TEXTS = {"name", "margin", "increasing", "decreasing", "names", "format"}


def to_json(certificate: Certificate, indent: int | None) -> str:
    """Write a certificate; a number that JSON does not know is the text "inf", "-inf" or "nan"."""
    plain = {"format": FORMAT, "version": VERSION, **certificate.to_dict()}
    return json.dumps(_finite(plain), indent=indent, allow_nan=False)


def from_json(kind: type[Certificate], source: str) -> Certificate:
    """Read what `to_json` wrote."""
    try:
        content = json.loads(source)
    except json.JSONDecodeError as error:
        raise ValueError(f"this is not JSON, so no certificate: {error}") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ValueError("this JSON was not written by Certificate.to_json: it is no certificate")
    if not isinstance(content.get("version"), int) or content["version"] > VERSION:
        raise ValueError(
            f"this certificate has format version {content.get('version')}, this library reads up "
            f"to {VERSION}: upgrade it with pip install --upgrade rational-anova"
        )
    try:
        return kind(**_arguments(content))
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"this certificate is damaged: {error!r}") from error


def _arguments(content: dict[str, Any]) -> dict[str, Any]:
    plain = {key: _read(key, value) for key, value in content.items()}
    units = [{**unit, "theorem": Theorem(**unit["theorem"])} for unit in plain.pop("units")]
    return {
        **{key: value for key, value in plain.items() if key not in ("format", "version", "gap")},
        "monotone": tuple(Monotone(**entry) for entry in plain["monotone"]),
        "layers": tuple(Layer(**entry) for entry in plain["layers"]),
        "units": tuple(_filled(UnitCertificate, unit) for unit in units),
    }


def _filled(kind: Any, entry: dict[str, Any]) -> Any:
    return kind(**{field.name: entry[field.name] for field in fields(kind)})


def _read(key: str, value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _read(name, part) for name, part in value.items()}
    if isinstance(value, list):
        return tuple(_read(key, part) for part in value)
    return _ODD[value] if isinstance(value, str) and key not in _TEXTS else value


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def plain(record: Any) -> dict[str, Any]:
    """Return a record as plain lists, dictionaries and numbers, with gaps beside the bounds."""
    found = asdict(record)
    found["units"] = [unit.to_dict() for unit in record.units]
    return {**found, "gap": record.gap}
