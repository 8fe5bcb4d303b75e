"""What a browser does before a page is read."""

from __future__ import annotations

from enum import StrEnum
from typing import Self

from pydantic import BaseModel, ConfigDict, ValidationInfo, model_validator

STORED_CONTEXT = {"stored": True}
"""The context in which what was stored is read: it is not asked again whether it makes sense."""


class BrowserAction(StrEnum):
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


class BrowserStep(BaseModel):
    """One of them."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    action: BrowserAction
    where: str = ""
    """A CSS selector, or an address to go to."""
    value: str = ""
    """What is filled in or chosen; {words} in braces stand for variables."""

    @model_validator(mode="after")
    def _says_where(self, info: ValidationInfo) -> Self:
        if not self.where.strip() and info.context != STORED_CONTEXT:
            what = "an address" if self.action is BrowserAction.GO else "a CSS selector"
            raise ValueError(f"A step that is to {self.action} has to say where: write {what} behind it.")
        return self
