"""Where an element of a page is, as people say it."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, model_validator

from tarantula.streams.selectors import check_css, check_xpath
from tarantula.streams.texts_part_patterns import check_pattern


class ElementPlace(BaseModel):
    """Where an element is."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    css: Annotated[str, AfterValidator(check_css)] = ""
    """A CSS selector."""
    xpath: Annotated[str, AfterValidator(check_xpath)] = ""
    """Or an XPath expression."""
    nth: int = 0
    """Which of several that fit, counted from 1; none is chosen unless said."""
    attribute: str = ""
    """Whose text is read in the place of the element's own."""
    regex: Annotated[str, AfterValidator(check_pattern)] = ""
    """What of the text is wanted: its first group, or all that it matches."""

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if self.css and self.xpath:
            raise ValueError("Give a CSS selector or an XPath expression, not both.")
        if self.nth < 0:
            raise ValueError("Elements are counted from 1.")
        return self
