"""What a ready-made category is: a form, and a source that is made of its answers."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from tarantula.streams.sources.config_part_source_field import SourceField
from tarantula.streams.sources.request import RequestMethod, check_method

CATEGORY_MODEL = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)
TEMPLATE_WORD = re.compile(r"\{([a-z][a-z0-9_]*)\}")
_NAME = re.compile(r"[a-z][a-z0-9-]{0,39}")


class AnswerKind(StrEnum):
    """What an answer has to be."""

    ADDRESS = "address"
    """A whole URL."""
    WORD = "word"
    """Letters, digits and a few signs, without spaces: what goes into expressions too."""
    TEXT = "text"
    """Anything on one line."""
    NUMBER = "number"
    CHOICE = "choice"
    """One of some that are listed."""


class FormQuestion(BaseModel):
    """One field of a form."""

    model_config = CATEGORY_MODEL

    key: str
    """By which the answer is known, in braces, in the address and everywhere else."""
    label: str
    """What it is called."""
    help: str = ""
    """What to write, in a sentence."""
    example: str = ""
    """An answer that would do."""
    kind: AnswerKind = AnswerKind.TEXT
    """What the answer has to be."""
    default: str = ""
    """The answer, unless there is another."""
    choices: dict[str, str] = Field(default_factory=dict)
    """What can be chosen, and what stands in its place."""
    optional: bool = False
    """Whether it may be left empty."""


def _check_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name[:40]!r} is not the name of a category. Write small letters, digits and -.")
    return name


class Category(BaseModel):
    """A kind of source that is ready to be added."""

    model_config = CATEGORY_MODEL

    name: Annotated[str, AfterValidator(_check_name)]
    """The name of its file."""
    title: str
    """What people call it."""
    help: str = ""
    """What its sources follow, in a sentence."""
    base: str = ""
    """The address of the service, as {base} in the others: a service that moved is set right here."""
    url: str
    """The address that is read, with answers in braces."""
    method: Annotated[RequestMethod, BeforeValidator(check_method)] = RequestMethod.GET
    """How the service is asked."""
    headers: dict[str, str] = Field(default_factory=dict)
    """What it is told beside, with answers in braces."""
    body: str = ""
    """What is sent to it, with answers in braces; those do not stand in the address as well."""
    adapter: str
    """How it is read."""
    form: tuple[FormQuestion, ...]
    """What is asked."""
    fields: tuple[SourceField, ...] = ()
    """The values; their places may have answers in braces."""
    options: dict[str, Any] = Field(default_factory=dict)
    """What else the adapter wants to know."""
    interval: float = 300.0
    """Seconds between two readings."""
    render: bool = False
    """Whether the page is read as a browser shows it."""
    source_name: str = ""
    """The name that is suggested, with answers in braces."""
    source_title: str = ""
    """The title that is suggested."""
    tags: tuple[str, ...] = ()
    """Words by which its sources are found."""

    @property
    def sent_words(self) -> set[str]:
        """Return the answers that are sent."""
        return set(TEMPLATE_WORD.findall(" ".join((self.body, *self.headers.values()))))

    @model_validator(mode="after")
    def _asks_for_all(self) -> Self:
        asked = {question.key for question in self.form} | {"base"}
        if both := sorted({*TEMPLATE_WORD.findall(self.url)} & self.sent_words):
            raise ValueError(f"{both[0]} cannot stand both in the address and in what is sent.")
        wanted = set(TEMPLATE_WORD.findall(" ".join((self.url, self.source_name, self.source_title)))) | self.sent_words
        if missing := sorted(wanted - asked):
            raise ValueError(f"The form does not ask for {', '.join(missing)}.")
        return self
