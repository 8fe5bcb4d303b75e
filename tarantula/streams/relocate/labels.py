"""Labels of an element: the words next to, above and before it by which a person recognises a value."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from turbohtml import Document, Element, Node, Text

from tarantula.streams.relocate.page_text import LONGEST_LABEL, as_label, strings_of, text_of
from tarantula.streams.relocate.tables import TableGrid, column_titles, contains_any, grid_of, row_title, title_above

ElementLabels = dict[str, str]
"""Labels by position: row, column, above (second column title), term, aria, before, after, group, headings."""
HEADING_KEYS = ("heading", "heading_2", "heading_3")
LONGEST_CELL = 150
"""Maximum number of characters of a table cell; longer cells are page layout, not data."""

RANKED_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
HEADINGS = (*RANKED_HEADINGS, "caption")
_BOUNDARY_TAGS = frozenset("td th tr li dd article section aside main body table form fieldset nav footer".split())
_GROUP_TAGS = frozenset("li article section fieldset figure aside".split())
_SECTION_TAGS = frozenset("section article aside li nav footer table".split())
_MOST_LEVELS = 4
_MOST_SIBLINGS = 12


class LabelledPage:
    """A page with its labels: parses each table once, and does not use followed values as labels."""

    def __init__(self, document: Document, values: frozenset[Element] = frozenset()) -> None:
        self.document = document
        self.values = values
        self._grids: dict[Element, TableGrid] = {}

    def grid(self, table: Element) -> TableGrid:
        """Return the grid of a table, parsed once."""
        if table not in self._grids:
            self._grids[table] = grid_of(table)
        return self._grids[table]

    def labels(self, element: Element) -> ElementLabels:
        """Return the labels of an element by position."""
        labels = self._table_labels(element)
        others = self.values - {element}
        if not labels:
            labels["term"] = _term_label(element)
            labels["column"] = title_above(element)
            labels.update(self._next_to(element))
            known = {label for label in labels.values() if label}
            labels["group"] = _group_label(element, known, others)
        labels["aria"] = as_label(element.attr("aria-label") or "")
        headings = [labels.pop("caption", ""), *_heading_labels(element)]
        labels.update(zip(HEADING_KEYS, (heading for heading in headings if heading), strict=False))
        return {where: label for where, label in labels.items() if label}

    def _table_labels(self, element: Element) -> ElementLabels:
        cell = element.closest("td, th")
        table = cell.closest("table") if cell is not None else None
        if cell is None or table is None or len(text_of(cell)) > LONGEST_CELL:
            return {}
        grid = self.grid(table)
        if cell not in grid.places:
            return {}
        labels = {"row": row_title(grid, cell, self.values - {element})}
        labels["column"], labels["above"] = column_titles(grid, cell)
        if cell is not element:
            labels.update(self._next_to(element))
        if not any(labels.values()):
            return {}
        caption = table.select_one("caption")
        labels["caption"] = as_label(text_of(caption)) if caption is not None else ""
        return labels

    def _next_to(self, element: Element) -> ElementLabels:
        node: Node = element
        for _ in range(_MOST_LEVELS):
            parent = node.parent
            if not isinstance(parent, Element):
                return {}
            before = self._nearest(node.previous_siblings, -1)
            after = self._nearest(node.next_siblings, 0)
            if before and not (after and _starts_with_value(parent)):
                return {"before": before}
            if after:
                return {"after": after}
            # A label next to several values does not identify one of them.
            if parent.tag in _BOUNDARY_TAGS or text_of(parent) != text_of(element):
                return {}
            node = parent
        return {}

    def _nearest(self, siblings: Iterator[Node], end: int) -> str:
        for sibling in islice(siblings, _MOST_SIBLINGS):
            if isinstance(sibling, Element) and contains_any(sibling, self.values):
                continue
            strings = strings_of(sibling)
            if strings and (label := as_label(strings[end])):
                return label
        return ""


def _starts_with_value(parent: Element) -> bool:
    return not as_label(next(iter(parent.stripped_strings), ""))


def _term_label(element: Element) -> str:
    described = element.closest("dd")
    if described is not None:
        for sibling in islice(described.previous_siblings, _MOST_SIBLINGS):
            if isinstance(sibling, Element) and sibling.tag == "dt":
                return as_label(text_of(sibling))
    return ""


def _group_label(element: Element, known: set[str], values: frozenset[Element]) -> str:
    """Return the first words of the list entry or section that contains the element."""
    for above in islice(element.ancestors, 6):
        if not isinstance(above, Element) or above.tag in ("body", "main", "html"):
            return ""
        if above.tag in _GROUP_TAGS or _is_repeated(above):
            first = next((node for node in above.descendants if isinstance(node, Text) and node.data.strip()), None)
            if first is None or any(value in first.ancestors for value in values):
                return ""
            label = as_label(text_of(first))
            if label and label not in known and element not in first.ancestors:
                return label
    return ""


def _is_repeated(element: Element) -> bool:
    classes = element.attr("class")
    near = [*islice(element.previous_siblings, 4), *islice(element.next_siblings, 4)]
    return bool(classes) and any(
        isinstance(other, Element) and other.tag == element.tag and other.attr("class") == classes for other in near
    )


def _heading_labels(element: Element) -> list[str]:
    """Return the headings above an element, nearest first, each of a higher rank than the previous one."""
    found: list[str] = []
    node, rank = element, "h7"
    for _ in range(20):
        for sibling in islice(node.previous_siblings, 40):
            heading = _heading_in(sibling) if isinstance(sibling, Element) else None
            if heading is not None and heading.tag < rank and (label := as_label(text_of(heading))):
                found.append(label)
                rank = heading.tag
                if rank == "h1" or len(found) == len(HEADING_KEYS):
                    return found
        if not isinstance(node.parent, Element):
            break
        node = node.parent
    return found


def _heading_in(element: Element) -> Element | None:
    if element.tag in RANKED_HEADINGS:
        return element
    if element.tag in _SECTION_TAGS or element.tag == "head":
        return None
    inside = element.select(", ".join(RANKED_HEADINGS))
    if not inside:
        return None
    # A heading with a longer text next to it belongs to that text, not to what follows.
    alone = element.tag == "header" or len(text_of(element)) <= len(text_of(inside[-1])) + LONGEST_LABEL
    return inside[-1] if alone else None
