"""Mutations of files: of their bytes, and of the structure that their bytes stand for."""

from __future__ import annotations

import functools
import gzip
import io
import json
import random
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np

Mutation = Callable[[bytes, random.Random], bytes]
CHECKSUM = "checksum"


def of_bytes(data: bytes, rng: random.Random) -> bytes:
    """Change some bytes: flipped, cut out, put in, doubled, cut off, overwritten."""
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        start = rng.randrange(len(data) + 1)
        end = min(len(data), start + rng.choice((1, 1, 2, 4, 16, 200)))
        part, noise = data[start:end], rng.randbytes(rng.choice((1, 2, 4, 16)))
        flipped = bytes(byte ^ (1 << rng.randrange(8)) for byte in part)
        data = rng.choice((
            data[:start] + flipped + data[end:],
            data[:start] + data[end:],
            data[:start] + noise + data[start:],
            data[:start] + part + part + data[end:],
            data[:start] + noise + data[start + len(noise) :],
            data[:start] if rng.random() < 0.3 else data[:start] + flipped + data[end:],
        ))  # fmt: skip
        if not data:
            break
    return data


_TEXTS = (
    "", "nan", "inf", "-inf", "x", "__class__", "../../etc/passwd", "\x1b[31m", "\0", "\ud800",
    "=cmd|'/c calc'!A0", "<script>", "9**9**9", "((9**9999)**9999)", "floor(exp(exp(100)))",
    "x" * 5000, "exp(" * 50 + "1" + ")" * 50, "c0", "1/0", "__import__('os')", "lambda: 0",
)  # fmt: skip
_NUMBERS = (
    0, 1, -1, 2, 7, 255, 2**31, 2**63, 2**64, -(2**63), 10**18, 10**400, 0.5, -0.0, 1e308, -1e308,
    5e-324, 1e-310, 1e155, True, False, None,
)  # fmt: skip
_TAGS = (
    "tuple", "set", "dict", "bytes", "Tensor", "Additive", "Feature", "Heads", "Decimal",
    "Timestamp", "Period", "RandomState", "array", "objects", "text", "nothing",
)  # fmt: skip


def odd(rng: random.Random) -> Any:
    """Return a value of JSON that nobody expects."""
    kind = rng.randrange(8)
    if kind < 2:
        return rng.choice(_TEXTS)
    if kind < 5:
        return rng.choice(_NUMBERS)
    if kind == 5:
        return rng.choice(([], {}, [[]], [None], {"": 0}, [1, "a", None], {"!": "x"}))
    if kind == 6:
        deep: Any = 0
        for _ in range(rng.choice((3, 50, 900))):
            deep = [deep]
        return deep
    return {"!": rng.choice(_TAGS), "is": rng.choice(([], {}, 0, "", [[]], [1, 2], {"a": 1}))}


def of_json(value: Any, rng: random.Random) -> Any:
    """Change one place of a tree of lists and dictionaries."""
    places: list[tuple[Any, Any]] = []

    def walk(node: Any) -> None:
        for key in list(node) if isinstance(node, dict) else range(len(node)):
            places.append((node, key))
            if isinstance(node[key], dict | list):
                walk(node[key])

    walk(value)
    if not places:
        return odd(rng)
    node, key = rng.choice(places)
    change = rng.randrange(5)
    if change == 0:
        del node[key]
    elif change == 1 and isinstance(node, dict):
        node[rng.choice(_TEXTS[:8])] = node.pop(key)
    elif change == 2 and isinstance(node, list):
        node.insert(key, node[key] if rng.random() < 0.5 else odd(rng))
    elif change == 3:
        other = rng.choice(places)
        node[key] = other[0][other[1]] if other[1] in _keys(other[0]) else odd(rng)
    else:
        node[key] = odd(rng)
    return value


def _keys(node: Any) -> Any:
    return node if isinstance(node, dict) else range(len(node))


def dumped(value: Any) -> bytes:
    """Write JSON, whatever is in it; a tree that bites its tail becomes null."""
    try:
        return json.dumps(value).encode()
    except (ValueError, RecursionError):
        return b"null"


def of_json_file(data: bytes, rng: random.Random) -> bytes:
    """Change a file of JSON in its structure, without its checksums."""
    content = json.loads(data, object_hook=_unsealed)
    return dumped(of_json(content, rng))


def _unsealed(node: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in node.items() if key != CHECKSUM}


@functools.lru_cache(maxsize=4)
def _members(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def of_archive(data: bytes, rng: random.Random) -> bytes:
    """Change a member of an archive, or how it is stored."""
    members = dict(_members(data))
    record = json.loads(members["record.json"])
    record.pop(CHECKSUM, None)
    members["record.json"] = dumped(record)
    name, change = rng.choice(list(members)), rng.randrange(7)
    packing = zipfile.ZIP_STORED
    if change < 3:
        members["record.json"] = dumped(of_json(record, rng))
    elif change == 3:
        members[name] = of_bytes(members[name], rng)
    elif change == 4:
        held = members.pop(name)
        if rng.random() < 0.7:
            members[rng.choice(("0.npy", "99.npy", "../x", "record.json", "a/b"))] = held
    elif change == 5:
        members[name] = of_array(members[name], rng)
    else:
        packing = rng.choice((zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA))
    result = io.BytesIO()
    with zipfile.ZipFile(result, "w", packing) as new:
        for name, held in members.items():
            new.writestr(name, held)
    whole = bytearray(result.getvalue())
    if rng.random() < 0.05:
        whole[6] |= 1  # "encrypted", in the header of the first member
    return bytes(whole)


_TYPES = ("?", "i8", "u1", "f2", ">f8", "c16", "U5", "S5", "M8[ns]", "m8[s]", "V8", "f4")


def of_array(data: bytes, rng: random.Random) -> bytes:
    """Change the type or the shape of an array, which stays one that NumPy opens."""
    try:
        array = np.load(io.BytesIO(data))
    except (ValueError, EOFError):  # the record, which is no array
        return data
    kind = np.dtype(rng.choice(_TYPES))
    if rng.random() < 0.3:
        array = rng.choice((array[None], array.ravel(), array[:0], array.T))
    elif kind.kind in "VMm":
        array = np.zeros(array.shape, kind)
    else:
        array = np.nan_to_num(array.astype(np.float64)).astype(np.int64).astype(kind)
    result = io.BytesIO()
    np.save(result, array)
    return result.getvalue()


_DTYPES = ("F64", "F32", "F16", "BF16", "I64", "I32", "U8", "BOOL", "F8_E4M3", "F8_E5M2", "X9")


def of_tensors(data: bytes, rng: random.Random) -> bytes:
    """Change the header of a safetensors file, or its numbers, without its checksum."""
    size = int.from_bytes(data[:8], "little")
    header, rest = json.loads(data[8 : 8 + size]), data[8 + size :]
    header["__metadata__"].pop(CHECKSUM, None)
    change = rng.randrange(5)
    tensors = [name for name in header if name != "__metadata__"]
    if change == 0:
        header[rng.choice(tensors)]["dtype"] = rng.choice(_DTYPES)
    elif change == 1:
        arguments = json.loads(header["__metadata__"]["arguments"])
        header["__metadata__"]["arguments"] = dumped(of_json(arguments, rng)).decode()
    elif change == 2:
        rest = of_bytes(rest, rng)
    else:
        header = of_json(header, rng)
    text = dumped(header)
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + rest


_CELLS = (
    '"', '""', "'", ",", ";", "\t", "\n", "\r", "\r\n", "\0", "1,234", "1.234,5", "=1+1", "nan",
    "1e999", "-", "9" * 30, "9" * 5000, "1_000", "\u22125", "\u0663", "\ufeff",
    "\x1b[2J", "a\nb",
    "x" * 200_000, "TRUE", "0x10", "\u2028", "1e-400", "\U0001f600",
)  # fmt: skip


def of_text(data: bytes, rng: random.Random) -> bytes:
    """Change cells, separators and quotes of a table."""
    text = data.decode()
    for _ in range(rng.choice((1, 1, 2, 4))):
        start = rng.randrange(len(text) + 1)
        text = text[:start] + rng.choice(_CELLS) + text[start + rng.choice((0, 0, 1, 5)) :]
    return text.encode("utf-8", "surrogatepass")


def of_packed(data: bytes, rng: random.Random) -> bytes:
    """Change a table of text within its gzip: well packed, and sometimes in two members."""
    text = of_text(gzip.decompress(data), rng)
    cut = rng.randrange(len(text) + 1) if rng.random() < 0.2 else len(text)
    return gzip.compress(text[:cut], 1, mtime=0) + gzip.compress(text[cut:], 1, mtime=0)


def mixed(*ways: Mutation) -> Mutation:
    """Return a mutation that is one of these, by chance."""
    return lambda data, rng: rng.choice(ways)(data, rng)
