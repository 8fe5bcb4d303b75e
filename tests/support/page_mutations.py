"""Random changes of a page, like those that site owners make; the followed element stays identifiable."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from turbohtml import Document, Element

Mutation = Callable[[Document, Random], None]


def _elements(document: Document) -> list[Element]:
    return [element for element in document.iter_elements() if element.closest("body") and element.tag != "body"]


def rename_classes(document: Document, random: Random) -> None:
    """Rename every class, as a new build of a site does."""
    names: dict[str, str] = {}
    for element in _elements(document):
        if classes := (element.attr("class") or "").split():
            new = [names.setdefault(name, f"x{random.getrandbits(24):x}") for name in classes]
            element.attrs["class"] = " ".join(new)


def drop_ids(document: Document, random: Random) -> None:
    """Remove all ids."""
    for element in _elements(document):
        if element.attr("id") is not None:
            del element.attrs["id"]


def wrap_some(document: Document, random: Random) -> None:
    """Wrap some elements in new ones."""
    inside = [one for one in _elements(document) if one.tag in ("table", "section", "ul", "div", "span", "p", "main")]
    for element in random.sample(inside, min(3, len(inside))):
        element.wrap(Element("div" if element.tag not in ("span", "p") else "span", {"class": "wrap"}))


def insert_some(document: Document, random: Random) -> None:
    """Insert banners and notes before some elements."""
    free = [one for one in _elements(document) if one.tag in ("div", "section", "ul", "table", "h1", "h2", "p")]
    for element in random.sample(free, min(3, len(free))):
        note = Element("div", {"class": "note"})
        note.text = random.choice(["Publicidade", "Subscreva já", "Novo: 50 % de desconto", "Sondagem 12"])
        element.insert_before(note)


def shuffle_rows(document: Document, random: Random) -> None:
    """Shuffle the rows of a table or the items of a list."""
    parents = [one for one in _elements(document) if one.tag in ("tbody", "ul", "dl")] + document.select(
        ".vias, .css-st"
    )
    if not parents:
        return
    parent = random.choice(parents)
    movable = [child for child in parent.children if isinstance(child, Element) and child.tag not in ("dt", "dd", "h2")]
    movable = [child for child in movable if not child.select("th") or child.select("td")]
    if len({child.tag for child in movable}) == 1:
        _reorder(movable, random)


def duplicate_row(document: Document, random: Random) -> None:
    """Insert a new row above the others."""
    rows = [one for one in document.select("tbody tr") if one.select("td")]
    if rows:
        new = Element("tr")
        for cell in rows[0].select("td"):
            copy = Element("td")
            copy.text = (
                "Novo" if any(map(str.isalpha, cell.text)) and not any(map(str.isdigit, cell.text)) else cell.text
            )
            new.append(copy)
        rows[0].insert_before(new)


def _reorder(children: list[Element], random: Random) -> None:
    marks: list[Element] = []
    for child in children:
        mark = Element("i")
        child.insert_before(mark)
        marks.append(mark)
    for mark, child in zip(marks, random.sample(children, len(children)), strict=True):
        mark.replace_with(child.extract())


MUTATIONS: list[Mutation] = [rename_classes, drop_ids, wrap_some, insert_some, shuffle_rows, duplicate_row]
