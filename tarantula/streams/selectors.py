"""User-supplied CSS selectors and XPath expressions: validated when written, compiled once, applied to pages."""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, model_validator
from turbohtml import Document, Element, XPath, parse
from turbohtml.query import SelectorSyntaxError

from tarantula.core.limited_worker import is_worker
from tarantula.core.messages import Message
from tarantula.streams.expression_cost import is_cheap_css, is_cheap_xpath
from tarantula.streams.limited import check_in_worker
from tarantula.streams.texts import check_pattern

LONGEST_SELECTOR = 1000
_SMALL = parse("<p>1</p>")


def check_css(selector: str) -> str:
    """Return a valid CSS selector; raise `ValueError` if it is not one."""
    if selector:
        _check_length(selector)
        try:
            if not is_worker() and not is_cheap_css(selector):
                check_in_worker("css", selector)
            else:
                _SMALL.select(selector)
        except (SelectorSyntaxError, ValueError) as error:
            if error.args and isinstance(error.args[0], Message):
                raise
            raise ValueError(
                Message("{selector!r} is not a CSS selector: {error}.", selector=selector[:80], error=_reason(error))
            ) from error
    return selector


def check_xpath(expression: str) -> str:
    """Return a valid XPath expression; raise `ValueError` if it is not one."""
    if expression:
        _check_length(expression)
        if "re:" in expression:
            raise ValueError(Message("XPath cannot contain regular expressions. Use regex."))
        try:
            if not is_worker() and not is_cheap_xpath(expression):
                check_in_worker("xpath", expression)
            else:
                compiled_xpath(expression)(_SMALL)
        except ValueError as error:
            if error.args and isinstance(error.args[0], Message):
                raise
            raise ValueError(
                Message(
                    "{expression!r} is not an XPath expression: {error}.",
                    expression=expression[:80],
                    error=_reason(error),
                )
            ) from error
    return expression


@lru_cache(maxsize=4096)
def compiled_xpath(expression: str) -> XPath:
    """Return a compiled XPath expression."""
    return XPath(expression, smart_strings=True)


def select_css(scope: Document | Element, selector: str) -> list[Element]:
    """Return the elements that a CSS selector matches; ``:scope`` is *scope* itself."""
    return [scope] if selector == ":scope" and isinstance(scope, Element) else scope.select(selector)


def select_xpath(scope: Document | Element, expression: str) -> list[Element | str]:
    """Return the elements or texts that an XPath expression selects."""
    result = compiled_xpath(expression)(scope)
    if isinstance(result, list):
        return [one if isinstance(one, (Element, str)) else one.text for one in result]
    if isinstance(result, float) and result.is_integer():
        return [str(int(result))]
    return [str(result)]


def _check_length(written: str) -> None:
    if len(written) > LONGEST_SELECTOR:
        raise ValueError(
            Message("The selector is longer than {limit} characters. Write a shorter one.", limit=LONGEST_SELECTOR)
        )


def _reason(error: Exception) -> str:
    return str(error).rpartition('": ')[2].removeprefix("xpath: ")


class ElementPlace(BaseModel):
    """Place of an element on a page."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    css: Annotated[str, AfterValidator(check_css)] = ""
    """CSS selector."""
    xpath: Annotated[str, AfterValidator(check_xpath)] = ""
    """XPath expression, in place of a CSS selector."""
    nth: int = 0
    """Which of several matching elements, counted from 1; by default, only one may match."""
    attribute: str = ""
    """Attribute to read in place of the text of the element."""
    regex: Annotated[str, AfterValidator(check_pattern)] = ""
    """Regular expression for a part of the text: its first group, or the whole match."""

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if self.css and self.xpath:
            raise ValueError(Message("Give a CSS selector or an XPath expression, not both."))
        if self.nth < 0:
            raise ValueError(Message("Elements are counted from 1."))
        return self
