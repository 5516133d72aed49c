"""Megabytes of what `pip install` brought, by package; `make wheel` prints it.

python tests/release/sizes.py
"""

from importlib.metadata import distributions


def main() -> None:
    """Print each installed distribution with its size, the largest first."""
    sizes = {}
    for each in distributions():
        files = [file.locate() for file in each.files or ()]
        sizes[each.metadata["Name"]] = sum(f.stat().st_size for f in files if f.is_file()) / 1e6
    for name, size in sorted(sizes.items(), key=lambda item: -item[1]):
        print(f"{size:8.1f} MB  {name}")
    print(f"{sum(sizes.values()):8.1f} MB  in all")


if __name__ == "__main__":
    main()
