"""What exported Python needs: it is written out with every model, and imports math alone."""

# mypy: disable-error-code="no-untyped-def"
# ruff: noqa: B905

import math


def _gap(value):
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:  # pandas.NA
        return True


def _value(row, name):
    try:
        return row[name]
    except KeyError:
        raise KeyError(f"the row has no column {name!r}; give None where it is missing") from None


def _clip(x, low, high):
    return min(max(x, low), high)


def _number(row, name, low, high, special=()):
    value = _value(row, name)
    if _gap(value):
        return None
    try:
        x = float(value)
    except (TypeError, ValueError):
        raise ValueError(f"column {name!r} must be a number, got {value!r}") from None
    if math.isinf(x):
        raise ValueError(f"column {name!r} is infinite; give a number, or None for a gap")
    return None if math.isnan(x) else x if x in special else _clip(x, low, high)


def _code(row, name, levels, gap, unseen):
    value = _value(row, name)
    return gap if _gap(value) else levels.get(value, unseen)


def _days(year, month, day):
    # days from 1970-01-01 in the Gregorian calendar, years counted from March
    year -= month <= 2
    century, rest = year // 400, year % 400
    of_year = (153 * (month - 3 if month > 2 else month + 9) + 2) // 5 + day - 1
    return century * 146097 + rest * 365 + rest // 4 - rest // 100 + of_year - 719468


def _month(days):
    rest = (days + 719468) % 146097
    year = (rest - rest // 1460 + rest // 36524 - rest // 146096) // 365
    month = (5 * (rest - (365 * year + year // 4 - year // 100)) + 2) // 153
    return month + 3 if month < 10 else month - 9


def _seconds(text):
    # whole seconds since 1970 in UTC, and the fraction of one
    text = text.strip().replace("T", " ").replace("Z", "+00:00")
    date, _, time = text.partition(" ")
    year, month, day = (int(part) for part in date.split("-"))
    days = _days(year, month, day)
    if not 1 <= month <= 12 or day < 1 or _month(days) != month:
        raise ValueError(text)
    sign, shift = 0, "0"
    for mark in "+-":
        if mark in time:
            time, _, shift = time.partition(mark)
            sign = 1 if mark == "+" else -1
    zone = shift.replace(":", "").ljust(4, "0")
    hour, minute, second = f"{time.strip()}:0:0".split(":")[:3]
    whole, _, fraction = second.partition(".")
    clock = 3600 * int(hour or 0) + 60 * int(minute) + int(whole)
    clock -= sign * (3600 * int(zone[:2]) + 60 * int(zone[2:]))
    return 86400 * days + clock, float(f"0.{fraction or 0}")


def _date(row, name, part, low, high):
    value = _value(row, name)
    if _gap(value) or str(value) in ("", "NaT"):
        return None
    try:
        seconds, fraction = _seconds(str(value))
    except ValueError:
        raise ValueError(f"column {name!r} must be a date, got {value!r}") from None
    days = seconds // 86400
    parts = {
        "day": (seconds + fraction) / 86400,
        "month": _month(days),
        "weekday": (days + 3) % 7,
        "hour": seconds % 86400 // 3600,
    }
    return _clip(float(parts[part]), low, high)


def _heads(x, centres, widths, odd, gap):
    if x is None:
        return gap
    u = [(x - c) / w for c, w in zip(centres, widths)]
    phi = [1 / (1 + v * v) for v in u]
    return phi + [p * v for p, v in zip(phi, u)] if odd else phi


def _dot(columns, numerators):
    return sum(c * n for c, n in zip(columns, numerators) if c)


def _pair(first, second, numerators):
    return sum(c * _dot(second, line) for c, line in zip(first, numerators) if c)


def _softmax(f):
    powers = [math.exp(v - max(f)) for v in f]
    return [p / sum(powers) for p in powers]


def _expit(f):
    return 1 / (1 + math.exp(-f)) if f > 0 else math.exp(f) / (1 + math.exp(f))
