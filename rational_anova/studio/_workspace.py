"""The workspace: a folder with tables by content hash, and runs with their results.

    tables/HASH/  table.json, source.csv, profile.json, choice.json
    runs/ID/      run.json, and the results: law.json, model.safetensors, ...

Every file is written whole. Names of folders come from the studio itself and are checked, so that
no path leads outside.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import tempfile
import time
import uuid
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

from platformdirs import user_data_path

from .._core.files import APPLICATION, write_whole
from ._records import Choice, Run, State, TableEntry, as_json, from_json

LARGEST = 200 * 2**20  # bytes of a table; text takes some ten times as much while it is read
SUFFIXES = (".csv", ".tsv", ".txt", ".parquet", ".xlsx", ".gz")
_HASH, _ID = re.compile(r"[0-9a-f]{16}"), re.compile(r"\d{8}-\d{6}-[0-9a-f]{6}")
_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*(\.[A-Za-z0-9]+)+")
_BLOCK = 2**20


class Workspace:
    """Tables and runs in a folder.

    Args:
        folder: where; made if it is not there. By default that of the user's data.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     work = Workspace(folder)
        ...     entry = work.add_table(b"x,y\\n1,2\\n", "two.csv")
        ...     entry.name, work.tables() == [entry]
        ('two.csv', True)
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        self.folder = Path(folder) if folder is not None else default_folder()
        for part in ("tables", "runs"):
            (self.folder / part).mkdir(parents=True, exist_ok=True)
        self._lock: Any = None

    # -- one server at a time

    def take(self) -> None:
        """Take the folder for this process; raises if another studio has it."""
        try:
            import fcntl
        except ImportError:  # Windows: two servers there would only write over each other's states
            return
        self._lock = open(self.folder / ".lock", "a")  # noqa: SIM115  held as long as the server
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self.leave()
            raise ValueError(
                f"another studio uses the workspace {self.folder}; close it, or name another "
                "folder by --workspace"
            ) from None

    def leave(self) -> None:
        """Let another studio have the folder."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    # -- tables

    def add_table(self, content: bytes | BinaryIO, name: str) -> TableEntry:
        """Keep a table as it came, under the hash of its content; a known one is not kept twice.

        Raises:
            ValueError: it is empty, too large, or of a kind that cannot be read.
        """
        suffix = _suffix(name)
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            path = Path(folder) / f"source{suffix}"
            digest, size = _copied(content, path, name)
            key = digest[:16]
            home = self.folder / "tables" / key
            if not (home / "table.json").exists():
                home.mkdir(exist_ok=True)
                os.replace(path, home / path.name)
                entry = TableEntry(key, Path(name).name, suffix, size, time.time())
                _write(home / "table.json", as_json(entry))
        return self.table(key)

    def table(self, key: str) -> TableEntry:
        """Return a table by its hash; raises KeyError if there is none."""
        found: TableEntry = from_json(TableEntry, _read(self.table_folder(key) / "table.json"))
        return found

    def tables(self) -> list[TableEntry]:
        """Return all tables, the newest first."""
        found = []
        for folder in (self.folder / "tables").iterdir():
            if _HASH.fullmatch(folder.name):
                with contextlib.suppress(KeyError):  # killed before it was whole
                    found.append(self.table(folder.name))
        return sorted(found, key=lambda entry: (-entry.added, entry.hash))

    def table_folder(self, key: str) -> Path:
        """Return the folder of a table, which need not be there."""
        if not _HASH.fullmatch(key):
            raise KeyError(f"there is no table {key!r}")
        return self.folder / "tables" / key

    def source(self, key: str) -> Path:
        """Return the file of a table."""
        return self.table_folder(key) / f"source{self.table(key).suffix}"

    def profile(self, key: str) -> dict[str, Any] | None:
        """Return what was seen when the table was read; None if it was not read yet."""
        try:
            return _read(self.table_folder(key) / "profile.json")
        except KeyError:
            return None

    def choice(self, key: str) -> Choice:
        """Return what was chosen of a table: by the user, else the first choice of its profile."""
        try:
            found = _read(self.table_folder(key) / "choice.json")
        except KeyError:
            found = (self.profile(key) or {}).get("choice", {})
        choice: Choice = from_json(Choice, found)
        return choice

    def choose(self, key: str, choice: Choice) -> None:
        """Keep what the user chose of a table."""
        _write(self.table_folder(key) / "choice.json", as_json(choice))

    def remove_table(self, key: str) -> None:
        """Forget a table; its runs stay."""
        shutil.rmtree(self.table_folder(key), ignore_errors=True)

    # -- runs

    def new_run(
        self, kind: str, table: str = "", options: Mapping[str, Any] | None = None,
        title: str = "", beside: str = "",
    ) -> Run:  # fmt: skip
        """Record a run that is to be done."""
        now = time.time()
        name = f"{time.strftime('%Y%m%d-%H%M%S', time.localtime(now))}-{uuid.uuid4().hex[:6]}"
        run = Run(name, kind, table, dict(options or {}), title, beside, created=now)
        self.keep(run)
        return run

    def keep(self, run: Run) -> None:
        """Write the record of a run."""
        _write(self.run_folder(run.id) / "run.json", as_json(run))

    def run(self, key: str) -> Run:
        """Return a run by its id; raises KeyError if there is none."""
        found: Run = from_json(Run, _read(self.run_folder(key) / "run.json"))
        return found

    def runs(self) -> list[Run]:
        """Return all runs, the newest first."""
        found = []
        for folder in (self.folder / "runs").iterdir():
            if _ID.fullmatch(folder.name):
                with contextlib.suppress(KeyError):
                    found.append(self.run(folder.name))
        return sorted(found, key=lambda run: (-run.created, run.id))

    def run_folder(self, key: str) -> Path:
        """Return the folder of a run, which need not be there."""
        if not _ID.fullmatch(key):
            raise KeyError(f"there is no run {key!r}")
        return self.folder / "runs" / key

    def result(self, run: Run, name: str | None = None) -> Path:
        """Return a file of a run: the first of its results, or one by name."""
        name = name or (run.results[0] if run.results else "")
        if name not in run.results or not _FILE.fullmatch(name):
            raise KeyError(f"the run {run.id} has no file {name!r}")
        return self.run_folder(run.id) / name

    def remove_run(self, key: str) -> None:
        """Forget a run and its results."""
        shutil.rmtree(self.run_folder(key), ignore_errors=True)

    def mark_interrupted(self) -> list[Run]:
        """Mark runs that were under way when the server ended; return them."""
        found = []
        for run in self.runs():
            if run.state.under_way:
                told = "The studio was closed while this was under way. It can be started again."
                ended = replace(run, state=State.INTERRUPTED, message=told)
                self.keep(ended)
                found.append(ended)
        return found

    # -- files of this library, from elsewhere

    def add_file(self, content: bytes) -> str:
        """Keep a file as it came, under the hash of its content, which is returned."""
        if not content:
            raise ValueError("the file is empty")
        key = hashlib.sha256(content).hexdigest()[:16]
        path = self.file(key)
        path.parent.mkdir(exist_ok=True)
        write_whole(path, content)
        return key

    def file(self, key: str) -> Path:
        """Return a file that was added, which need not be there."""
        if not _HASH.fullmatch(key):
            raise KeyError(f"there is no file {key!r}")
        return self.folder / "files" / key

    # -- settings

    def settings(self) -> dict[str, Any]:
        """Return the settings of the page."""
        try:
            return _read(self.folder / "settings.json")
        except KeyError:
            return {}

    def set(self, **settings: Any) -> None:
        """Change some settings of the page."""
        _write(self.folder / "settings.json", self.settings() | settings)


def default_folder() -> Path:
    """Return where the workspace is unless another is named: in the folder of the user's data."""
    return user_data_path(APPLICATION, appauthor=False) / "studio"


def _suffix(name: str) -> str:
    suffix = Path(name).suffix.lower()
    if suffix not in SUFFIXES:
        known = ", ".join(SUFFIXES[:-1])
        raise ValueError(f"{name!r} is no table that can be read; its name must end in {known}")
    return suffix


def _copied(content: bytes | BinaryIO, path: Path, name: str) -> tuple[str, int]:
    """Write content to a new file in blocks; return its hash and size."""
    digest, size = hashlib.sha256(), 0
    with open(path, "xb") as file:
        while True:
            if isinstance(content, bytes):
                block, content = content, b""
            else:
                block = content.read(_BLOCK)
            if not block:
                break
            size += len(block)
            if size > LARGEST:
                raise ValueError(
                    f"{name!r} has more than {LARGEST >> 20} MB, the most that the studio reads; "
                    "drop a part of its rows, or of its columns"
                )
            digest.update(block)
            file.write(block)
        file.flush()
        os.fsync(file.fileno())
    if not size:
        raise ValueError(f"{name!r} is empty")
    return digest.hexdigest(), size


def _write(path: Path, content: Mapping[str, Any]) -> None:
    write_whole(path, json.dumps(content, allow_nan=True).encode())


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        raise KeyError(f"there is no {path.name}") from None
    if not isinstance(found, dict):
        raise KeyError(f"{path.name} is damaged")
    return found
