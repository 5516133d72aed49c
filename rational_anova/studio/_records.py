"""What the studio keeps of tables and runs; each is a JSON file in the workspace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from enum import Enum
from typing import Any


class State(str, Enum):
    """Where a run stands."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"

    @property
    def under_way(self) -> bool:
        """Whether it waits for a worker, or has one."""
        return self in (State.QUEUED, State.RUNNING)

    def __str__(self) -> str:
        return str(self.value)


@dataclass(frozen=True)
class TableEntry:
    """A table of the workspace.

    Args:
        hash: of its content; also the name of its folder.
        name: of the file that was dropped, for reading only.
        suffix: of the file in the folder, by which it is read.
        size: in bytes.
        added: when, in seconds of the epoch.
    """

    hash: str
    name: str
    suffix: str
    size: int
    added: float


@dataclass(frozen=True)
class Choice:
    """What is to be found of a table, as the Table view has it; laws and models start from it.

    Args:
        target: column to explain.
        inputs: columns to explain it by, in the order of the table.
        units: of columns, by name.
        where: conditions on rows, such as "state=treated".
        by: column of experiments that share one law; empty if there are none.
        sigma: column of standard errors of the target; empty if there are none.
    """

    target: str = ""
    inputs: tuple[str, ...] = ()
    units: Mapping[str, str] = field(default_factory=dict)
    where: tuple[str, ...] = ()
    by: str = ""
    sigma: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "inputs", tuple(self.inputs))
        object.__setattr__(self, "where", tuple(self.where))


@dataclass(frozen=True)
class Run:
    """A piece of work: asked for, under way or over.

    Args:
        id: also the name of its folder.
        kind: one of `work.KINDS`.
        table: hash of the table that it is of; empty if of none.
        options: of the kind; what JSON can hold.
        title: in a few words.
        beside: id of the run that it is to be compared with; empty if there is none.
        state: where it stands.
        created: when it was asked for, in seconds of the epoch.
        started: when a worker began with it.
        ended: when it was over.
        message: why it failed, or what is to be said of its end.
        results: names of the files in its folder; the first is the result that `ra.load` opens.
        progress: the last that the worker told.
        bests: the best so far, each time that it became better.
    """

    id: str
    kind: str
    table: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    title: str = ""
    beside: str = ""
    state: State = State.QUEUED
    created: float = 0.0
    started: float | None = None
    ended: float | None = None
    message: str = ""
    results: tuple[str, ...] = ()
    progress: Mapping[str, Any] = field(default_factory=dict)
    bests: tuple[Mapping[str, Any], ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "state", State(self.state))
        object.__setattr__(self, "results", tuple(self.results))
        object.__setattr__(self, "bests", tuple(self.bests))

    @property
    def seconds(self) -> float | None:
        """How long it took; None if it is not over."""
        return None if self.started is None or self.ended is None else self.ended - self.started


def as_json(record: Any) -> dict[str, Any]:
    """Return a record as a dict that JSON can hold."""
    return {
        key: str(value) if isinstance(value, Enum) else value
        for key, value in asdict(record).items()
    }


def from_json(cls: type, content: Mapping[str, Any]) -> Any:
    """Return the record; what a later version wrote beside it is left out."""
    known = {f.name for f in fields(cls)}
    return cls(**{key: value for key, value in content.items() if key in known})
