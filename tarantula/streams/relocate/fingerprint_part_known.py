"""What is remembered of an element: several ways to it, the words beside it, what its texts look like."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

from tarantula.streams.relocate.fingerprint_part_shape import number_in, shape_of
from tarantula.streams.relocate.labels import ElementLabels

MOST_SHAPES = 4
MOST_NUMBERS = 30
MARK_POSITIONS = ("term", "aria", "before", "after")
"""Where words stand that say which value it is, the surest first."""


@dataclass(slots=True)
class ElementFingerprint:
    """One element, as it was when it was read last."""

    last: str = ""
    shapes: list[str] = field(default_factory=list)
    numbers: list[float] = field(default_factory=list)
    """The last ones, to tell which are usual."""
    labels: ElementLabels = field(default_factory=dict)
    tag: str = ""
    own: str = ""
    """Its id, classes and the names in its attributes, as one text."""
    names: list[str] = field(default_factory=list)
    """Selectors of its id, its attributes or its classes that fit nothing else."""
    paths: list[str] = field(default_factory=list)
    """By the places of all above it, and from the nearest above that has a name of its own."""
    near: list[list[str]] = field(default_factory=list)
    """Words before it and words after it, the nearest first."""
    rivals: list[str] = field(default_factory=list)
    """Texts of the same shape that stood near."""
    twins: int = 0
    """How many elements beside it have the same shape."""
    shared: bool = False
    """Whether another value near had the very same words."""
    about: list[str] = field(default_factory=list)
    """The title of the page, and its first heading."""
    language: str = ""
    landmark: str = ""
    """Whether it stands in the page's margin: ``aside``, ``nav``, ``footer``."""
    strayed: bool = False
    """Whether it was found where its selector does not lead."""
    doubted: list[str] = field(default_factory=list)
    """The last text that was doubted, and the way to it: somebody may say that it was right."""
    day: int = 0
    """When all this was looked at last, in days."""

    @classmethod
    def of(cls, remembered: dict[str, Any]) -> Self:
        """Take what was remembered."""
        return cls(**{name: value for name, value in remembered.items() if name in cls.__slots__})

    def as_json(self) -> dict[str, Any]:
        """Return what is to be remembered."""
        return {name: value for name in self.__slots__ if (value := getattr(self, name))}

    def saw(self, text: str) -> None:
        """Remember a text that was read."""
        shape = shape_of(text)
        if shape not in self.shapes:
            self.shapes = [*self.shapes, shape][-MOST_SHAPES:]
        if text != self.last and shape.count("9") == 1 and (number := number_in(text)) is not None:
            self.numbers = [*self.numbers, float(f"{number:.6g}")][-MOST_NUMBERS:]
        self.last = text

    @property
    def marks(self) -> list[str]:
        """The words that say which value it is: its row and column, or what is beside it and of which part it is."""
        return marks_in(self.labels)

    @property
    def around(self) -> list[str]:
        """All words around it."""
        return [word for words in self.near for word in words]


def marks_in(labels: ElementLabels) -> list[str]:
    """Return the words that say which value it is."""
    if "row" in labels:
        return [labels[where] for where in ("row", "column") if where in labels]
    beside = next((labels[where] for where in MARK_POSITIONS if where in labels), "")
    return list(dict.fromkeys(filter(None, (labels.get("column"), beside, labels.get("group")))))
