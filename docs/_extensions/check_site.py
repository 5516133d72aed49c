"""Check the built site: nothing is fetched from elsewhere, links lead somewhere, search works.

python docs/_extensions/check_site.py build/docs/html
"""

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# What a browser fetches by itself, by element and attribute; a link that a reader follows is none.
_FETCHED = {
    "script": ("src",),
    "img": ("src", "srcset"),
    "iframe": ("src",),
    "source": ("src", "srcset"),
    "video": ("src", "poster"),
    "audio": ("src",),
    "object": ("data",),
    "embed": ("src",),
}
_LINKS = {
    "stylesheet",
    "preload",
    "icon",
    "prefetch",
    "modulepreload",
    "preconnect",
    "dns-prefetch",
}
_FOREIGN = re.compile(r"^\s*(?:https?:)?//", re.I)
_IN_STYLES = re.compile(r"(?:url\(|@import)\s*['\"]?\s*((?:https?:)?//[^'\")\s]+)", re.I)


class _Page(HTMLParser):
    """What a page fetches, where it links to, and the places that can be linked to."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.fetched: list[str] = []
        self.links: list[str] = []
        self.places: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what an element fetches or links to."""
        found = {key: value or "" for key, value in attrs}
        if "id" in found:
            self.places.add(found["id"])
        if tag == "a" and "name" in found:
            self.places.add(found["name"])
        self.fetched += [found[key] for key in _FETCHED.get(tag, ()) if key in found]
        if tag == "link" and _LINKS & set(found.get("rel", "").split()):
            self.fetched.append(found.get("href", ""))
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        self.fetched += _IN_STYLES.findall(found.get("style", ""))


def read(text: str) -> _Page:
    """Return what stands in a page."""
    page = _Page()
    page.feed(text)
    for style in re.findall(r"<style.*?</style>", text, re.S):
        page.fetched += _IN_STYLES.findall(style)
    return page


def foreign(page: _Page) -> list[str]:
    """Return what a page fetches from other hosts."""
    return [address for address in page.fetched if _FOREIGN.match(address)]


def findings(site: Path) -> Iterator[str]:
    """Yield a line for each thing that is wrong."""
    pages = {path: read(path.read_text()) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        name = path.relative_to(site)
        for address in foreign(page):
            yield f"{name}: fetches {address}"
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or link.startswith("javascript:"):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.exists():
                yield f"{name}: links to {link}, which is not there"
            elif parts.fragment and target in pages:
                place = unquote(parts.fragment)
                if place not in pages[target].places and place != "":
                    yield f"{name}: links to {link}, whose place is not there"
    for style in site.rglob("*.css"):
        for address in _IN_STYLES.findall(style.read_text()):
            yield f"{style.relative_to(site)}: fetches {address}"
    if not (site / "searchindex.js").exists():
        yield "there is no index to search in"


def main() -> int:
    """Print what is wrong; 1 if anything is."""
    found = list(findings(Path(sys.argv[1]).resolve()))
    print(*found, sep="\n", end="\n" if found else "")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
