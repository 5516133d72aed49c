"""The house in numbers: files, lines, folders, and how deep the imports of an estimator go.

Names that come through an `__init__.py` count as imports of the file that defines them.

python -m benchmarks.house [--smoke] [FOLDER OF ANOTHER CHECKOUT]
"""

from __future__ import annotations

import argparse
import ast
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from statistics import median

import rational_anova


class House:
    """The files of a package, and who imports whom.

    Args:
        root: the folder of the package.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.files = {self._name(path): path for path in sorted(root.rglob("*.py"))}

    def _name(self, path: Path) -> str:
        parts = path.relative_to(self.root.parent).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    def _imported(self, module: str) -> Iterator[tuple[str, str]]:
        """Yield where each imported name comes from, and the name; functions included."""
        path = self.files[module]
        package = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom):
                base = package[: len(package) - node.level + 1] if node.level else []
                stem = ".".join([*base, *([node.module] if node.module else [])])
                yield from ((stem, alias.name) for alias in node.names)

    def _origin(self, module: str, name: str) -> str:
        """The file that defines a name: through the explicit exports of folders."""
        if f"{module}.{name}" in self.files:
            return f"{module}.{name}"
        if self.files[module].name == "__init__.py":
            for stem, exported in self._imported(module):
                if exported == name and stem in self.files and stem != module:
                    return self._origin(stem, name)
        return module

    @cached_property
    def imports(self) -> dict[str, set[str]]:
        """For each file, the files whose names it imports."""
        return {
            module: {
                origin
                for stem, name in self._imported(module)
                if stem in self.files and (origin := self._origin(stem, name)) != module
            }
            for module, path in self.files.items()
            if path.name != "__init__.py"
        }

    def private(self) -> int:
        """How many imports reach into another folder's private file."""
        count = 0
        for module in self.files:
            folder = module.split(".")[: -1 if self.files[module].name != "__init__.py" else None]
            for stem, name in self._imported(module):
                whole = f"{stem}.{name}" if f"{stem}.{name}" in self.files else stem
                parts = whole.split(".")
                hidden = [k for k, part in enumerate(parts) if part.startswith("_")]
                if stem in self.files and parts[1:2] != ["_core"] and hidden:
                    count += folder[: hidden[0]] != parts[: hidden[0]]
        return count

    def chain(self, module: str) -> int:
        """How many files of its package the longest chain of imports from a file passes."""
        package = ".".join(module.split(".")[:2])
        return self._deepest(module, package, set(), {})

    def _deepest(self, at: str, package: str, open_: set[str], known: dict[str, int]) -> int:
        if at in known:
            return known[at]
        open_.add(at)
        below = [m for m in self.imports.get(at, ()) if m.startswith(package + ".")]
        deep = [self._deepest(m, package, open_, known) for m in below if m not in open_]
        open_.discard(at)
        known[at] = 1 + max(deep, default=0)
        return known[at]

    def reached(self, module: str) -> int:
        """How many files of its package a file imports, directly or by others."""
        package = ".".join(module.split(".")[:2])
        seen, todo = set(), [module]
        while todo:
            at = todo.pop()
            if at not in seen:
                seen.add(at)
                todo += [m for m in self.imports.get(at, ()) if m.startswith(package + ".")]
        return len(seen)

    def report(self) -> dict[str, object]:
        """Return all numbers, by what they count."""
        sizes = {m: len(path.read_text().splitlines()) for m, path in self.files.items()}
        own = [m for m, path in self.files.items() if path.name != "__init__.py"]
        folders: dict[str, int] = {}
        for module in own:
            folder = str(self.files[module].parent.relative_to(self.root.parent))
            folders[folder] = folders.get(folder, 0) + 1
        longest, widest = max(own, key=sizes.__getitem__), max(folders, key=folders.__getitem__)
        users = {m: sum(m in seen for seen in self.imports.values()) for m in own}
        estimator = next(m for m in own if m.endswith("._regressor"))
        return {
            "files": len(self.files),
            "lines": sum(sizes.values()),
            "median file": median(sizes[m] for m in own),
            "longest file": f"{sizes[longest]} ({longest})",
            "largest folder": f"{folders[widest]} ({widest})",
            "files with one importer": sum(count == 1 for count in users.values()),
            "imports into private files": self.private(),
            "files that RANRegressor reaches": self.reached(estimator),
            "longest chain of RANRegressor": self.chain(estimator),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, help="of another checkout")
    parser.add_argument("--smoke", action="store_true", help="the same: it takes seconds")
    folder = parser.parse_args().folder
    root = folder / "rational_anova" if folder else Path(rational_anova.__file__).parent
    for what, value in House(root).report().items():
        print(f"{what:34}{value}")


if __name__ == "__main__":
    main()
