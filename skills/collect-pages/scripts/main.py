"""Gets all items of a tool that answers in pages, up to a bound."""

from collections.abc import Callable, Mapping
from typing import Any, TypedDict


class Collected(TypedDict):
    items: list[Any]
    pages: int
    complete: bool  # False: there are more than max_items


def collect_pages(
    fetch_page: Callable[[Any], Mapping[str, Any]],
    items: str,
    next: str = "next_cursor",
    max_items: int = 10_000,
) -> Collected:
    """Call fetch_page with None, then with each cursor; items and next are the keys of a page that hold them."""
    found: list[Any] = []
    seen: set[Any] = set()
    cursor: Any = None
    pages = 0
    while True:
        page = fetch_page(cursor)
        pages += 1
        found.extend(page.get(items) or [])
        cursor = page.get(next)
        if cursor is None:
            return {"items": found[:max_items], "pages": pages, "complete": len(found) <= max_items}
        if len(found) >= max_items:
            return {"items": found[:max_items], "pages": pages, "complete": False}
        if cursor in seen:
            raise RuntimeError(f"the server sent the same cursor twice, after {pages} pages: {str(cursor)[:80]}")
        seen.add(cursor)
