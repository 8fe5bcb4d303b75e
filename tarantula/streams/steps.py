"""What a browser does before a page is read."""

from __future__ import annotations

from enum import StrEnum

from pydantic import BaseModel, ConfigDict


class Action(StrEnum):
    """What can be done."""

    GO = "go"
    """To an address."""
    FILL = "fill"
    """Something into a field."""
    CHOOSE = "choose"
    """One of a list."""
    CLICK = "click"
    WAIT = "wait"
    """Until something is there."""


class Step(BaseModel):
    """One of them."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    action: Action
    where: str = ""
    """A CSS selector, or an address to go to."""
    value: str = ""
    """What is filled in or chosen; {words} in braces stand for variables."""
