"""Tables in pieces: what is larger than memory comes in chunk by chunk, as often as asked for.

A folder of Parquet files has a piece for each group of rows, a CSV file is one piece; what can be
read only once (a generator) or is a query (of polars, of duckdb) is written to a temporary folder
first, by the engine that made it where that has a way to.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ._cells import typed_columns
from ._csv import CsvPiece
from ._files import read_table
from ._frames import as_pandas

if TYPE_CHECKING:
    import pandas as pd

CHUNK = 1 << 16  # rows of a chunk, about
SMALL_FILE = 1 << 25  # bytes up to which a file of text is read whole, with all checks of one


class Piece(Protocol):
    """Some rows of a table, in chunks; it can be pickled, and read again."""

    @property
    def name(self) -> str: ...

    @property
    def rows(self) -> int: ...

    def frames(self) -> Iterator[pd.DataFrame]:
        """Yield the rows, some at a time."""
        ...


class Pieces(list[Piece]):
    """The pieces of a table in their order; a temporary folder goes with the last of them.

    Args:
        pieces: in the order of the rows.
        folder: that they lie in, if it is to be deleted with them.
    """

    def __init__(self, pieces: Iterable[Piece] = (), folder: Any = None) -> None:
        super().__init__(pieces)
        self.folder = folder

    @property
    def rows(self) -> int:
        """How many rows all pieces have."""
        return sum(piece.rows for piece in self)


@dataclass(frozen=True)
class FramePiece:
    """A frame in memory."""

    name: str
    frame: pd.DataFrame

    @property
    def rows(self) -> int:
        return len(self.frame)

    def frames(self) -> Iterator[pd.DataFrame]:
        for at in range(0, len(self.frame), CHUNK):
            yield self.frame.iloc[at : at + CHUNK]


@dataclass(frozen=True)
class ParquetPiece:
    """A group of rows of a Parquet file, or a whole file where `group` is None.

    Args:
        path: of the file.
        group: its number in the file.
        rows: how many there are.
        keys: columns that the names of the folders give, as in `year=2024/part.parquet`.
    """

    path: str
    group: int
    rows: int
    keys: tuple[tuple[str, Any], ...] = ()

    @property
    def name(self) -> str:
        return f"{self.path} (rows of group {self.group})"

    def frames(self) -> Iterator[pd.DataFrame]:
        from pyarrow import parquet

        # Checksums are there if who wrote the file asked for them.
        with parquet.ParquetFile(self.path, page_checksum_verification=True) as file:
            for batch in file.iter_batches(CHUNK, row_groups=[self.group]):
                yield batch.to_pandas().assign(**dict(self.keys))


@dataclass(frozen=True)
class PicklePiece:
    """A chunk that was written to a temporary folder."""

    name: str
    path: str
    rows: int

    def frames(self) -> Iterator[pd.DataFrame]:
        import pandas as pd

        yield pd.read_pickle(self.path)


@dataclass(frozen=True)
class CalledPiece:
    """What a function of the user yields, called for every pass."""

    name: str
    chunks: Callable[[], Iterable[Any]]
    rows: int

    def frames(self) -> Iterator[pd.DataFrame]:
        for n, chunk in enumerate(self.chunks()):
            yield _frame(chunk, f"chunk {n + 1} of {self.name}")


def pieces_of(X: Any, name: str = "X") -> Pieces | None:
    """Return the pieces of a table that comes in pieces; None for a table in memory.

    Args:
        X: a path or a list of paths (Parquet, a folder of Parquet or CSV files, CSV), a
            `pyarrow.dataset`, a lazy frame of polars, a relation of duckdb, a list of frames, a
            generator of frames, or a function that returns one.
        name: of the table, in messages.
    """
    made_by = type(X).__module__.split(".")[0].lstrip("_")
    if isinstance(X, str | os.PathLike):
        return _of_path(Path(X))
    if made_by == "pyarrow" and hasattr(X, "get_fragments"):
        return _of_dataset(X)
    if made_by == "pyarrow" and hasattr(X, "read_next_batch"):
        return _spooled(X, name)
    if made_by == "polars" and hasattr(X, "sink_parquet"):
        return _written(X.sink_parquet)
    if made_by == "duckdb" and hasattr(X, "write_parquet"):
        return _written(X.write_parquet)
    if isinstance(X, list | tuple) and X:
        if all(isinstance(one, str | os.PathLike) for one in X):
            found = [_of_path(Path(one)) for one in X]
            return Pieces(piece for pieces in found for piece in pieces)
        if all(_is_frame(one) for one in X):
            frames = ((f"chunk {n + 1} of {name}", one) for n, one in enumerate(X))
            return Pieces(FramePiece(label, _frame(one, label)) for label, one in frames)
        return None
    if isinstance(X, Iterator):
        return _spooled(X, name)
    if callable(X) and not hasattr(X, "__array__") and not _is_frame(X):
        counted = sum(len(_frame(chunk, name)) for chunk in X())
        return Pieces([CalledPiece(name, X, counted)])
    return None


def _is_frame(one: Any) -> bool:
    import pandas as pd

    return isinstance(one, pd.DataFrame) or (
        hasattr(one, "to_pandas") and hasattr(one, "columns") and not isinstance(one, pd.Series)
    )


def _frame(chunk: Any, label: str) -> pd.DataFrame:
    import pandas as pd

    found = as_pandas(chunk)
    if not isinstance(found, pd.DataFrame):
        raise TypeError(
            f"{label} is a {type(chunk).__name__}; chunks are frames (of pandas, polars or "
            "pyarrow) or dicts of columns, with the same names in every one"
        )
    return found


class _Folder:
    """A temporary folder, deleted when nobody has it any more, or when Python ends."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="rational-anova-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


def _spooled(chunks: Iterable[Any], name: str) -> Pieces:
    """Write what can be read only once to a temporary folder."""
    folder = _Folder()
    found: list[Piece] = []
    for n, chunk in enumerate(chunks):
        label = f"chunk {n + 1} of {name}"
        frame, path = _frame(chunk, label), folder.path / f"{n}.pickle"
        frame.to_pickle(path)
        found.append(PicklePiece(label, str(path), len(frame)))
    return Pieces(found, folder)


def _written(write: Callable[[str], Any]) -> Pieces:
    """Let the engine of a query write its result to a temporary folder."""
    _need_pyarrow("the result of a query")
    folder = _Folder()
    path = str(folder.path / "table.parquet")
    write(path)
    return Pieces(_of_parquet([(path, ())]), folder)


def _need_pyarrow(what: str) -> None:
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        raise ImportError(
            f"to read {what} takes pyarrow: pip install 'rational-anova[parquet]'"
        ) from None


def _of_path(path: Path) -> Pieces:
    if not path.exists():
        raise FileNotFoundError(f"there is no file or folder {path}")
    if path.is_dir():
        return _of_folder(path)
    with path.open("rb") as file:
        parquet = file.read(4) == b"PAR1"
    if parquet:
        _need_pyarrow(f"the Parquet file {path}")
        return Pieces(_of_parquet([(str(path), ())]))
    if path.suffix.lower() in (".parquet", ".pq"):
        raise ValueError(f"{path} is a damaged Parquet file: it does not begin as one does")
    if path.stat().st_size <= SMALL_FILE:
        return Pieces([FramePiece(str(path), typed_columns(read_table(path)))])
    return Pieces([CsvPiece.of(path, CHUNK)])


def _of_folder(path: Path) -> Pieces:
    files = sorted(
        file
        for file in path.rglob("*")
        if file.is_file()
        and not any(p.startswith((".", "_")) for p in file.relative_to(path).parts)
    )
    if not files:
        raise ValueError(f"the folder {path} has no files")
    if any(file.suffix.lower() in (".parquet", ".pq") for file in files):
        odd = [f for f in files if f.suffix.lower() not in (".parquet", ".pq", ".crc")]
        if odd:
            raise ValueError(f"the folder {path} has Parquet files, and {odd[0].name}; give a list")
        _need_pyarrow(f"the folder {path}")
        parts = [file for file in files if file.suffix.lower() != ".crc"]
        return Pieces(_of_parquet([(str(file), _keys(file, path)) for file in parts]))
    found = [_of_path(file) for file in files]
    return Pieces(piece for pieces in found for piece in pieces)


def _keys(file: Path, folder: Path) -> tuple[tuple[str, Any], ...]:
    """Return the columns that the names of folders give, as Spark and others write them."""
    parts = file.relative_to(folder).parts[:-1]
    pairs = [part.split("=", 1) for part in parts if "=" in part]
    return tuple((key, _number(value)) for key, value in pairs)


def _number(text: str) -> Any:
    if text == "__HIVE_DEFAULT_PARTITION__":
        return None
    try:
        return float(text)
    except ValueError:
        return text


def _of_parquet(files: Sequence[tuple[str, tuple[tuple[str, Any], ...]]]) -> list[Piece]:
    from pyarrow import parquet

    found: list[Piece] = []
    for path, keys in files:
        try:
            with parquet.ParquetFile(path) as file:
                sizes = [
                    file.metadata.row_group(k).num_rows for k in range(file.metadata.num_row_groups)
                ]
        except Exception as error:  # pyarrow raises whatever it meets in a broken file
            raise ValueError(f"{path} is a damaged Parquet file: {error}") from error
        found += [ParquetPiece(path, k, rows, keys) for k, rows in enumerate(sizes)]
    return found


def _of_dataset(dataset: Any) -> Pieces:
    """Return the files of a dataset; what is not Parquet on a local disk goes by its batches."""
    files = getattr(dataset, "files", None)
    plain = getattr(getattr(dataset, "format", None), "default_extname", "") == "parquet"
    if files and plain and all(Path(file).exists() for file in files):
        from pyarrow.dataset import get_partition_keys

        known = {
            f.path: get_partition_keys(f.partition_expression) for f in dataset.get_fragments()
        }
        return Pieces(_of_parquet([(path, tuple(known[path].items())) for path in files]))
    return _spooled(dataset.to_batches(), "the dataset")
