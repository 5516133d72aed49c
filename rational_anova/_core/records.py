"""One envelope for everything that is saved, and one door: `save` and `load`.

Every file has a header: `format` ("rational-anova"), `kind`, `version` (of the kind's content) and
`library` (the version that wrote it). It stands in JSON text, in the archive of a record with
arrays, or among the metadata of a safetensors file. A class registers its kind where it is defined;
`KINDS` says which module that is, so that `load` imports no more than a file needs.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import io
import json
import os
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from .codec import Reader, Writer, array_file, array_of
from .files import read_whole, write_whole

FORMAT = "rational-anova"
HEADER = ("format", "kind", "version", "library")
CHECKSUM = "checksum"  # of the content, beside the header
RECORD = "record.json"  # of an archive
# All kinds, and the name whose import registers each.
KINDS = {
    "network": "rational_anova._core.saveable:saveable",
    "estimator": "rational_anova.tabular:RANRegressor",
    "law": "rational_anova.discovery.law:Law",
    "dynamics": "rational_anova.motion.record:Dynamics",
    "certificate": "rational_anova.certificates:Certificate",
    "history": "rational_anova.training:History",
    "checkpoint": "rational_anova.training:Checkpoint",
    "surgery": "rational_anova.surgery:reapply_",
}
_OPENS = (
    "ra.load opens networks, estimators, laws, dynamics, certificates, histories and checkpoints"
)
_DATE = (1980, 1, 1, 0, 0, 0)  # of all entries of an archive: equal objects make equal files
_ENCRYPTED = 1  # the bit of an archive's entry that says so
_ODD = re.compile("[\ud800-\udfff]")
_LONGEST = 10**8  # bytes of the header of a safetensors file, by its specification


class FileError(ValueError):
    """A file cannot be opened; the message names it and says what it is."""


@dataclass(frozen=True)
class Found:
    """An opened file.

    Args:
        source: what messages call it.
        header: its kind, version and library.
        content: the rest of the JSON; of a safetensors file, the rest of its metadata.
        data: the bytes of a safetensors file.
        altered: whether the content is not the one that was written.
        edited: whether whoever opens the file says that this is meant.
    """

    source: str
    header: dict[str, Any]
    content: dict[str, Any]
    data: bytes = b""
    altered: bool = False
    edited: bool = False

    @property
    def kind(self) -> str:
        """What it holds, one of `KINDS`."""
        return str(self.header["kind"])


class Kind(NamedTuple):
    """How one kind of object is written and read."""

    cls: type | None
    version: int
    write: Callable[[Any], bytes] | None
    read: Callable[[Found], Any]
    fill: Callable[[Found, Any], Any] | None


_REGISTERED: dict[str, Kind] = {}


def register(
    kind: str,
    cls: type | None,
    write: Callable[[Any], bytes] | None,
    read: Callable[[Found], Any],
    fill: Callable[[Found, Any], Any] | None = None,
    version: int = 1,
) -> None:
    """Let `save` and `load` know a class.

    Args:
        kind: one of `KINDS`.
        cls: the class, for `save`; its subclasses are of the same kind. None if another library
            writes the file.
        write: returns the content of a file, made by `to_text`, `to_archive` or `to_metadata`.
        read: returns the object; whatever it raises means a damaged file.
        fill: brings what a file holds into an object that is there, for `load(path, into=...)`.
        version: of the content that `write` makes, and the last one that `read` knows.
    """
    assert kind in KINDS, kind
    _REGISTERED[kind] = Kind(cls, version, write, read, fill)


# -- the door


def save(obj: Any, path: str | os.PathLike[str]) -> None:
    """Write a network, estimator, law, dynamics, certificate, history or checkpoint, unpickled.

    Args:
        obj: what to write. By custom the ending is `.safetensors` for units and networks, `.ran`
            for estimators and `.json` for records.
        path: the file, which appears whole or not at all.

    Example:
        >>> import rational_anova as ra, tempfile, pathlib
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "unit.safetensors"
        >>> ra.save(ra.Rational1d(3), path)
        >>> ra.load(path)
        Rational1d(3, degrees=(3, 2), denominator='softplus', base='identity')
    """
    for kind in _REGISTERED.values():
        if kind.cls is not None and kind.write is not None and isinstance(obj, kind.cls):
            write_whole(path, kind.write(obj))
            return
    raise TypeError(
        f"a {type(obj).__name__} cannot be saved by rational_anova, only "
        "networks and units, fitted estimators, laws, dynamics, certificates, histories and "
        "checkpoints"
    )


def load(path: str | os.PathLike[str], into: Any = None, edited: bool = False) -> Any:
    """Read whatever `save` wrote, by the header of the file; no code from the file is run.

    Args:
        path: the file.
        into: for a network, a model of the same architecture that receives the weights; without
            it a new model is built. If anything is wrong with the file, `into` stays as it was.
        edited: open a file that was changed by hand, and so does not have its checksum any more;
            everything else is checked as ever.

    Returns:
        What the file holds. A network is in training mode like any new one, and each tensor has
        the dtype it was saved in; it does not know how its units were started: their `init_error`
        is None, and `reset_parameters` takes them to their base.
    """
    found = replace(open_file(path), edited=edited)
    if into is None:
        return built(found)
    fill = _REGISTERED[found.kind].fill
    if fill is None:
        raise FileError(f"{path} holds {_a(found.kind)}; only networks can be loaded into=")
    return fill(found, into)


def load_kind(path: str | os.PathLike[str], kind: str) -> Any:
    """Read a file that shall hold an object of this kind."""
    return built(open_file(path, kind))


def from_text(text: str, kind: str, source: str = "this text", edited: bool = False) -> Any:
    """Read an object of a kind from JSON text; see `load`."""
    data = text.encode(errors="surrogatepass")
    return built(replace(opened(data, source, kind), edited=edited))


def open_file(path: str | os.PathLike[str], kind: str | None = None) -> Found:
    """Read a file, with its header checked; raise if it is not of the kind that is wanted."""
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; {_folder(path)}")
    if not path.exists():
        raise FileNotFoundError(f"no file at {path}")
    return opened(read_whole(path), str(path), kind)


def opened(data: bytes, source: str, kind: str | None = None) -> Found:
    """Open the content of a file: see `open_file`."""
    if not data:
        raise FileError(f"{source} is damaged: it is empty")
    for reads in (_open_archive, _open_tensors, _open_text):
        try:
            found = reads(data, source, kind)
        except FileError:
            raise
        except Exception as error:  # whatever a damaged file can lead to
            raise damaged(source, error) from error
        if found is not None:
            return found
    guess, certain = _guess(data)
    raise _foreign(source, kind, guess, perhaps_damaged=not certain)


def built(found: Found) -> Any:
    """Return the object that a file holds."""
    try:
        result = _REGISTERED[found.kind].read(found)
    except FileError:
        raise
    except Exception as error:  # whatever a damaged file can lead to
        raise damaged(found.source, error) from error
    check_unaltered(found)
    return result


def check_unaltered(found: Found) -> None:
    """Raise if the content of a file is not the one that was written."""
    if found.altered and not found.edited:
        raise FileError(
            f"{found.source} is damaged, or was changed: its content does not have the {CHECKSUM} "
            "that is written with it; if it was changed on purpose, ra.load(path, edited=True) "
            "opens it, and ra.save writes it with a new one"
        )


def check_entries(found: Found, known: Iterable[str]) -> None:
    """Raise if a file has an entry that its kind does not have, such as a checksum misspelt."""
    for name in found.content:
        if name not in known:
            raise ValueError(f"it has an entry {name!r:.60}, which is none of a {found.kind}")


# -- the header


def header(kind: str) -> dict[str, Any]:
    """Return the header of a new file."""
    return {
        "format": FORMAT,
        "kind": kind,
        "version": _REGISTERED[kind].version,
        "library": _library(),
    }


@functools.cache
def _library() -> str:
    return metadata.version("rational-anova")


def check_header(
    content: Any, source: str, kind: str | None = None, guess: str = "it has no header of its"
) -> dict[str, Any]:
    """Return the header in a mapping, or say what is wrong with it.

    Args:
        content: what stands where a header should be.
        source: what messages call it.
        kind: what it shall hold, if that matters.
        guess: what it is if it has no header of this library.
    """
    if not isinstance(content, Mapping) or content.get("format") != FORMAT:
        if isinstance(content, Mapping) and _is_converted(content):
            raise FileError(f"{source} {_CONVERTED}")
        raise _foreign(source, kind, guess)
    found, version = content.get("kind"), content.get("version")
    by = f"{source}, written by rational-anova {content.get('library', 'of an unknown version')},"
    upgrade = "upgrade it with pip install --upgrade rational-anova"
    if not isinstance(found, str) or found not in KINDS:
        raise FileError(f"{by} holds {found!r}, which this library does not know: {upgrade}")
    if kind is not None and found != kind:
        raise FileError(f"{source} holds {_a(found)} and no {kind}; ra.load opens it")
    known = _known(found).version
    number = int(version) if isinstance(version, str) and version.isdecimal() else version
    if type(number) is not int or number < 1:
        raise FileError(f"{source} is damaged: it has format version {version}")
    if number > known:
        raise FileError(
            f"{by} has format version {number}, this library reads up to {known}: {upgrade}"
        )
    return {**{key: content.get(key) for key in HEADER}, "version": number}


def _known(kind: str) -> Kind:
    if kind not in _REGISTERED:
        module, _, name = KINDS[kind].partition(":")
        getattr(importlib.import_module(module), name)
    return _REGISTERED[kind]


def _body(content: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in content.items() if key not in (*HEADER, CHECKSUM)}


def checksum(content: Any, parts: Iterable[bytes] = ()) -> str:
    """Return the SHA-256 of values that JSON can hold, in whatever order, and of bytes."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    digest = hashlib.sha256(text.encode())
    for part in parts:
        digest.update(hashlib.sha256(part).digest())
    return digest.hexdigest()


# -- JSON text


def to_text(kind: str, content: Mapping[str, Any], indent: int | None = 1) -> str:
    """Return a record as JSON for people and other programs; see `codec` for its numbers."""
    body = Writer(plain=True).write(dict(content), f"the {kind}")
    whole = {**header(kind), CHECKSUM: checksum(body), **body}
    text = json.dumps(whole, allow_nan=False, ensure_ascii=False, indent=indent)
    if _ODD.search(text):  # halves of characters in names, which only escapes can write
        return json.dumps(whole, allow_nan=False, indent=indent)
    return text


def _open_text(data: bytes, source: str, kind: str | None) -> Found | None:
    if data.lstrip()[:1] not in (b"{", b"["):
        return None
    try:
        content = json.loads(data)
    except (ValueError, RecursionError) as error:
        if f'"{FORMAT}"'.encode() in data[:200]:
            raise FileError(f"{source} is damaged: not JSON any more ({error})") from error
        guess = f"it is not JSON either ({error})"
        raise _foreign(source, kind, guess, perhaps_damaged=True) from error
    return _decoded(content, {}, source, kind, "it is JSON of something else")


def _decoded(
    content: Any, arrays: Mapping[str, bytes], source: str, kind: str | None, guess: str
) -> Found:
    found, body = check_header(content, source, kind, guess), _body(content)
    values = Reader([array_of(data) for data in arrays.values()]).read(body)
    altered = content.get(CHECKSUM) != checksum(body, arrays.values())
    return Found(source, found, values, altered=altered)


# -- archives: JSON, and the arrays that it refers to


def to_archive(kind: str, content: Mapping[str, Any], where: str) -> bytes:
    """Return a record with arrays as the content of a file; `where` is its name in an error."""
    writer = Writer()
    body = writer.write(dict(content), where)
    arrays = [array_file(array) for array in writer.arrays]
    whole = {**header(kind), CHECKSUM: checksum(body, arrays), **body}
    result = io.BytesIO()
    with zipfile.ZipFile(result, "w") as archive:
        archive.writestr(zipfile.ZipInfo(RECORD, _DATE), json.dumps(whole, allow_nan=False))
        for at, data in enumerate(arrays):
            archive.writestr(zipfile.ZipInfo(f"{at}.npy", _DATE), data)
    return result.getvalue()


def _open_archive(data: bytes, source: str, kind: str | None) -> Found | None:
    if not data.startswith(b"PK"):
        return None
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = archive.namelist()
            if len(set(names)) < len(names):
                raise ValueError("two of its members have one name")
            if RECORD not in names:
                raise _foreign(source, kind, _archive_guess(names))
            content = json.loads(_member(archive, RECORD))
            count = sum(name.endswith(".npy") for name in names)
            arrays = {name: _member(archive, name) for name in map("{}.npy".format, range(count))}
    except FileError:
        raise
    except Exception as error:  # zipfile raises whatever it meets in a broken file
        if RECORD.encode() in data[:100]:
            raise FileError(f"{source} is damaged: {error}") from error
        guess = f"it is a broken archive ({error})"
        raise _foreign(source, kind, guess, perhaps_damaged=True) from error
    return _decoded(content, arrays, source, kind, "it is an archive of something else")


def _member(archive: zipfile.ZipFile, name: str) -> bytes:
    """Return a member; ours are not packed, so that none is larger than the file."""
    info = archive.getinfo(name)
    if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & _ENCRYPTED:
        raise ValueError(f"its {name} is packed or encrypted, as rational_anova does not write it")
    return archive.read(info)


# -- safetensors


def to_metadata(kind: str, fields: Mapping[str, str]) -> dict[str, str]:
    """Return the metadata of a safetensors file, which are texts."""
    return {**{key: str(value) for key, value in header(kind).items()}, **fields}


def _open_tensors(data: bytes, source: str, kind: str | None) -> Found | None:
    size = int.from_bytes(data[:8], "little")
    if data[8:9] != b"{" or size > _LONGEST:
        return None
    try:
        if size > len(data) - 8:
            raise ValueError("it ends within its header")
        content = dict(json.loads(data[8 : 8 + size])).get("__metadata__")
    except (ValueError, TypeError, RecursionError) as error:
        raise FileError(f"{source} is a damaged safetensors file: {error}") from error
    found = check_header(content, source, kind, "it is a safetensors file of something else")
    assert content is not None, "what has a header is there"
    body = _body(content)
    altered = content.get(CHECKSUM) != checksum(body, tensor_parts(data))
    return Found(source, found, body, data, altered)


def tensor_parts(data: bytes) -> Iterator[bytes]:
    """Yield what a safetensors file says of its tensors and their bytes, in order of names."""
    start = 8 + int.from_bytes(data[:8], "little")
    entries = json.loads(data[8:start])
    for name in sorted(entries.keys() - {"__metadata__"}):
        entry = entries[name]
        low, high = entry["data_offsets"]
        yield json.dumps([name, entry["dtype"], entry["shape"]]).encode()
        yield data[start + low : start + high]


# -- messages


def _foreign(source: str, kind: str | None, guess: str, perhaps_damaged: bool = False) -> FileError:
    nothing = f"holds no {kind}: it " if kind else ""
    damaged = ", or is damaged" if perhaps_damaged else ""
    return FileError(
        f"{source} {nothing}was not written by rational_anova{damaged} ({guess}); {_OPENS}"
    )


_CONVERTED = (
    "belongs to a model with rational units: ra.load_converted(folder, cls) opens it, with the "
    "class of the model"
)


def _is_converted(content: Mapping[str, Any]) -> bool:
    inner = content.get("rational_anova")  # see `surgery`
    return isinstance(inner, Mapping) and inner.get("format") == FORMAT


def _folder(path: Path) -> str:
    try:
        if _is_converted(json.loads((path / "config.json").read_bytes())):
            return f"it {_CONVERTED}"
    except (OSError, ValueError, AttributeError):
        pass
    return "give the file in it"


def _archive_guess(names: list[str]) -> str:
    if any(name.endswith("data.pkl") for name in names):
        return "it is of torch.save, which pickles"
    if names and all(name.endswith(".npy") for name in names):
        return "it is an archive of NumPy"
    return "it is an archive of something else"


def _guess(data: bytes) -> tuple[str, bool]:
    """Say what bytes look like, and whether they cannot be a broken file of this library."""
    if data[:1] == b"\x80" and data[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        return "it looks like a pickle, which could run any code", True
    try:
        text = data[:4096].decode(errors="strict" if len(data) <= 4096 else "ignore")
    except UnicodeDecodeError:
        text = "\0"
    lines = text.strip().splitlines()
    if "\0" in text or not lines:
        return f"it is {len(data):,} bytes of binary data", False
    if any(mark in lines[0] for mark in ",;\t"):
        return f"it looks like a table, with {lines[0][:40]!r} on top; ran fit reads those", True
    return f"it is text that begins with {lines[0][:40]!r}", False


def _a(kind: str) -> str:
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"


def damaged(source: object, error: Exception) -> FileError:
    """Return the error of a file that led to another one."""
    known = isinstance(error, ValueError | TypeError) and str(error)
    return FileError(f"{source} is damaged: {str(error) if known else repr(error):.300}")
