"""The studio: a local page where a table is dropped and the law in it appears (extra `studio`)."""

from ._workspace import Workspace as Workspace
from .serve import serve as serve
