"""Ready-made categories of sources: TOML files with a request, fields and views, made into sources by a few answers."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Mapping
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Self
from urllib.parse import quote, urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from tarantula.core import messages, validation
from tarantula.core.errors import NotFoundError, TarantulaError
from tarantula.core.messages import Message, join_messages
from tarantula.streams.sources.config import SourceField
from tarantula.streams.sources.request import RequestMethod, check_method

FOLDER = "categories"
"""Folder in the installation's home: each file adds a category, or overrides fields of a ready-made one."""


def categories(folder: Path | None = None) -> dict[str, Category]:
    """Return all categories by name; files in *folder* override ready-made categories of the same name."""
    known = {path.stem: dict(_read(path, path.stat().st_mtime_ns)) for path in _files(Path(__file__).with_suffix(""))}
    for path in _files(folder) if folder is not None else []:
        known[path.stem] = {**known.get(path.stem, {}), **_read(path, path.stat().st_mtime_ns)}
    return {name: _validated(name, values) for name, values in sorted(known.items())}


def category_named(name: str, folder: Path | None = None) -> Category:
    """Return the category of that name; raise `NotThere` listing the known names if there is none."""
    known = categories(folder)
    if name not in known:
        near = messages.did_you_mean(name, known)
        raise NotFoundError(
            "There is no category {name!r}.{hint} There are: {known}.",
            name=name[:40],
            hint=near,
            known=", ".join(known),
        )
    return known[name]


def _files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.toml"))


@lru_cache(maxsize=256)
def _read(path: Path, _changed: int) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise TarantulaError("The category {path} cannot be read: {error}.", path=path.name, error=error) from error


def _validated(name: str, values: dict[str, Any]) -> Category:
    try:
        return Category.model_validate({"name": name, **values})
    except ValidationError as error:
        lines = validation.validation_messages(error, Category.model_fields)
        raise TarantulaError(
            "The category {name} cannot be used: {problems}", name=name, problems=join_messages(lines, " ")
        ) from error


CATEGORY_MODEL = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)
TEMPLATE_WORD = re.compile(r"\{([a-z][a-z0-9_]*)\}")
_NAME = re.compile(r"[a-z][a-z0-9-]{0,39}")
LONGEST_ANSWER = 2000
_WORDS = re.compile(r"[\w.^=:@+-]+")
_NUMBERS = re.compile(r"[+-]?\d+(?:\.\d+)?")
_NOT_IN_NAMES = re.compile(r"[^a-z0-9_]+")


class AnswerKind(StrEnum):
    """Format of an answer."""

    ADDRESS = "address"
    """Absolute URL."""
    WORD = "word"
    """Letters, digits and a few signs without spaces; safe inside expressions."""
    TEXT = "text"
    """Any text on one line."""
    NUMBER = "number"
    CHOICE = "choice"
    """One of the listed choices."""


class FormQuestion(BaseModel):
    """One field of a category's form."""

    model_config = CATEGORY_MODEL

    key: str
    """Key of the answer, used in braces in the URL and elsewhere."""
    label: str
    """Label of the form field."""
    help: str = ""
    """Help text, one sentence."""
    example: str = ""
    """Example answer."""
    kind: AnswerKind = AnswerKind.TEXT
    """Format of the answer."""
    default: str = ""
    """Default answer."""
    choices: dict[str, str] = Field(default_factory=dict)
    """Choices, and the text that each one stands for."""
    optional: bool = False
    """Whether the answer may be empty."""


def _check_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ValueError(
            Message("{name!r} is not a valid category name. Use small letters, digits and -.", name=name[:40])
        )
    return name


class Category(BaseModel):
    """Template of a source with a form."""

    model_config = CATEGORY_MODEL

    name: Annotated[str, AfterValidator(_check_name)]
    """Name of the category's file."""
    title: str
    """Title of the category."""
    help: str = ""
    """What its sources follow, in one sentence."""
    base: str = ""
    """Base URL of the service, {base} in other fields; change it here if the service moves."""
    url: str
    """URL to read, with answers in braces."""
    method: Annotated[RequestMethod, BeforeValidator(check_method)] = RequestMethod.GET
    """HTTP method of the request."""
    headers: dict[str, str] = Field(default_factory=dict)
    """HTTP headers of the request, with answers in braces."""
    body: str = ""
    """Body of the request, with answers in braces; an answer cannot be in the URL as well."""
    adapter: str
    """Adapter of the source."""
    form: tuple[FormQuestion, ...]
    """Questions of the form."""
    fields: tuple[SourceField, ...] = ()
    """Fields of the source; their places may contain answers in braces."""
    options: dict[str, Any] = Field(default_factory=dict)
    """Options of the adapter."""
    interval: float = 300.0
    """Seconds between two readings."""
    render: bool = False
    """Whether the page is rendered in a browser."""
    source_name: str = ""
    """Suggested source name, with answers in braces."""
    source_title: str = ""
    """Suggested source title."""
    tags: tuple[str, ...] = ()
    """Tags of the source."""

    @property
    def sent_keys(self) -> set[str]:
        """Keys of the answers that are sent in headers or body."""
        return set(TEMPLATE_WORD.findall(" ".join((self.body, *self.headers.values()))))

    @model_validator(mode="after")
    def _check_answers(self) -> Self:
        questions = {question.key for question in self.form} | {"base"}
        if both := sorted({*TEMPLATE_WORD.findall(self.url)} & self.sent_keys):
            raise ValueError(Message("{both} cannot be used both in the URL and in headers or body.", both=both[0]))
        used = set(TEMPLATE_WORD.findall(" ".join((self.url, self.source_name, self.source_title)))) | self.sent_keys
        if missing := sorted(used - questions):
            raise ValueError(Message("The form does not ask for {missing}.", missing=", ".join(missing)))
        return self


def source_from_answers(category: Category, answers: Mapping[str, str]) -> dict[str, Any]:
    """Return the values of a source with a suggested name; raise `TarantulaError` for invalid answers."""
    checked = _checked(category, answers)
    filled = {key: _choice_text(category, key, answer) for key, answer in checked.items()}
    url, variables = category.url, dict[str, str]()
    for key in TEMPLATE_WORD.findall(url):
        if _kind(category, key) is AnswerKind.ADDRESS:
            url = url.replace(f"{{{key}}}", filled[key])
        else:
            variables[key] = quote(filled[key], safe=",")
    # Answers are percent-encoded in URLs, and sent unchanged in headers and body.
    variables |= {key: filled[key] for key in sorted(category.sent_keys)}
    fields = [field.model_dump(mode="json", exclude_defaults=True) for field in category.fields]
    values = {
        "name": ".".join(filter(None, (_slug(_fill(part, checked)) for part in category.source_name.split(".")))),
        "title": _fill(category.source_title, checked),
        "url": url,
        "variables": variables,
        "method": category.method if category.method != RequestMethod.GET else "",
        "headers": category.headers,
        "body": category.body,
        "adapter": category.adapter,
        "fields": _fill_nested(fields, filled),
        "options": _fill_nested(category.options, filled),
        "interval": category.interval,
        "render": category.render,
        "tags": list(category.tags),
        "category": category.name,
    }
    return {key: value for key, value in values.items() if value not in ("", {}, [], False)}


def _choice_text(category: Category, key: str, answer: str) -> str:
    """Return the text that a choice stands for, or the answer itself."""
    return next((one.choices.get(answer, answer) for one in category.form if one.key == key), answer)


def _kind(category: Category, key: str) -> AnswerKind:
    if key == "base":
        return AnswerKind.ADDRESS
    return next(question.kind for question in category.form if question.key == key)


def form_questions(category: Category) -> tuple[FormQuestion, ...]:
    """Return the questions of the form, followed by the base URL of the service if the category has one."""
    if not category.base:
        return category.form
    label, where = "Address of the service", "Another address with the same interface, if the service has moved."
    base = FormQuestion(
        key="base", label=label, help=where, kind=AnswerKind.ADDRESS, default=category.base, optional=True
    )
    return (*category.form, base)


def _checked(category: Category, answers: Mapping[str, str]) -> dict[str, str]:
    questions = {question.key: question for question in form_questions(category)}
    unasked = [key for key in answers if key not in questions]
    errors = dict[str, str]()
    unknown = [
        Message(
            "{category} does not ask for {key}.{hint}",
            category=Message(category.title),
            key=key[:40],
            hint=messages.did_you_mean(key, questions),
        )
        for key in unasked
    ]
    filled: dict[str, str] = {}
    for question in questions.values():
        try:
            filled[question.key] = _check_answer(question, str(answers.get(question.key, "")).strip())
        except ValueError as error:
            errors[question.key] = str(error)
    if unknown or errors:
        raise TarantulaError(join_messages([*unknown, *errors.values()]), fields=errors)
    return {**filled, "base": filled.get("base", "").rstrip("/")}


def _check_answer(question: FormQuestion, answer: str) -> str:
    answer = answer or question.default
    hint = Message(" Example: {example}.", example=question.example) if question.example else ""
    if question.kind is AnswerKind.CHOICE:
        hint = Message(
            "{hint} Choose: {choices}.",
            hint=messages.did_you_mean(answer, question.choices),
            choices=", ".join(question.choices),
        )
    if not answer:
        if question.optional:
            return ""
        raise ValueError(Message("{label} is missing.{hint}", label=Message(question.label), hint=hint))
    if len(answer) > LONGEST_ANSWER or any(unicodedata.category(letter) == "Cc" for letter in answer):
        raise ValueError(
            Message(
                "{label} is too long, or contains control characters.{hint}", label=Message(question.label), hint=hint
            )
        )
    if not _fits(question, answer):
        raise ValueError(
            Message("{label} cannot be {answer!r}.{hint}", label=Message(question.label), answer=answer[:80], hint=hint)
        )
    return answer


def _fits(question: FormQuestion, answer: str) -> bool:
    if question.kind is AnswerKind.ADDRESS:
        return _is_address(answer)
    if question.kind is AnswerKind.CHOICE:
        return answer in question.choices
    pattern = {AnswerKind.WORD: _WORDS, AnswerKind.NUMBER: _NUMBERS}.get(question.kind)
    return pattern is None or bool(pattern.fullmatch(answer))


def _is_address(answer: str) -> bool:
    try:
        parts = urlsplit(answer)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and " " not in answer


def _fill(template: str, answers: Mapping[str, str]) -> str:
    return TEMPLATE_WORD.sub(lambda found: answers.get(found[1], found[0]), template)


def _fill_nested(values: Any, answers: Mapping[str, str]) -> Any:
    if isinstance(values, str):
        return _fill(values, answers)
    if isinstance(values, Mapping):
        return {key: _fill_nested(value, answers) for key, value in values.items()}
    if isinstance(values, (list, tuple)):
        return [part for value in values if (part := _fill_nested(value, answers)) != ""]
    return values


def _slug(text: str) -> str:
    host = urlsplit(text).hostname if "://" in text else None
    letters = unicodedata.normalize("NFKD", (host or text).removeprefix("www.").casefold())
    plain = "".join(letter for letter in letters if not unicodedata.combining(letter))
    return _NOT_IN_NAMES.sub("-", plain).strip("-_")[:60]
