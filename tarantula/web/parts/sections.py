"""Parts of pages: a stretch under a heading, a few rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from nicegui import ui

from tarantula.web.parts.style import subheading, tagged


@contextmanager
def section(title: str) -> Iterator[None]:
    """Show a part of a page under a heading."""
    with ui.element("section").classes("w-full mb-6"):
        subheading(title)
        yield


def few_rows(label: str, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Show a small table; a wide one is moved sideways by itself. The values may be anybody's words."""
    around = ui.element("div").classes("w-full overflow-x-auto").props('tabindex="0" role="region"')
    around.props["aria-label"] = label
    with around, ui.element("table").classes("w-full text-left text-sm"):
        with ui.element("thead"), ui.element("tr"):
            for heading in headings:
                tagged("th", heading, "pr-4 align-top").props('scope="col"')
        with ui.element("tbody"):
            for row in rows:
                with ui.element("tr"):
                    for value in row:
                        tagged("td", value, "pr-4 align-top break-words")
