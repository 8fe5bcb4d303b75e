"""Texts of the interface, extracted from the code: the keys that a translation must and may have."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from string import Formatter
from typing import NamedTuple

from tarantula.accounts.roles import Role
from tarantula.core.database import ALL_IN_USE, CONNECTION_MESSAGES, OUTAGE_MESSAGES
from tarantula.core.reasons import REASON_TEMPLATES
from tarantula.core.states import SHORTAGE_MEANINGS, STATE_MEANINGS, ItemState, Validation
from tarantula.core.times import PERIODS
from tarantula.frontier.strategies import STRATEGIES
from tarantula.links.link import LinkKind
from tarantula.publications.config import PublicationConfig
from tarantula.streams.categories import categories, form_questions
from tarantula.streams.ingest.put_aside import AsideDecision
from tarantula.web.components.publication_form import publication_field_help
from tarantula.web.components.source_form import TEXT_FIELDS, source_field_help
from tests.support.crawls import ROOT

PACKAGE = ROOT / "tarantula"
TEMPLATE_TEXT = re.compile(r"""_\("([^"]*)\"""")
OPTIONS = frozenset({"fields"})
"""Arguments of errors that are no parameters of their message."""
MARKERS = frozenset({"_", "mark"})
PYDANTIC_MESSAGES = {
    "input should be a valid integer, unable to parse string as an integer",
    "input should be a valid number, unable to parse string as a number",
}
TRANSLATED = (
    "accounts/accounts.py",
    "accounts/credentials.py",
    "accounts/factors.py",
    "accounts/login.py",
    "accounts/roles.py",
    "accounts/security_keys.py",
    "accounts/sessions.py",
    "accounts/throttle.py",
    "accounts/tokens.py",
    "core/deadlines.py",
    "lifecycle/supervisor.py",
    "publications",
    "scope",
    "services",
    "streams/adapters",
    "streams/alerts",
    "streams/picker",
    "streams/relocate",
    "streams/sources/config.py",
    "streams/sources/registry.py",
    "streams/sources/request.py",
    "streams/sources/retention.py",
    "streams/values",
    "streams/views",
    "web/auth.py",
    "web/components",
    "web/limits.py",
    "web/picker",
)
"""Files and folders whose errors all have a translation; errors of other places may be shown in English."""


class MessageCall(NamedTuple):
    """A call in the code that makes a message."""

    where: str
    template: str
    names: frozenset[str | None]
    """Names of its parameters; ``None`` stands for ``**``."""
    is_formatted: bool
    """Whether it is an f-string, whose parameters are lost."""


def marked() -> set[str]:
    """Return the texts in ``_("…")`` and ``mark("…")``, in code and templates."""
    in_code = {text for path in (PACKAGE / "web").rglob("*.py") for text in _arguments(path, MARKERS)}
    templates = (path.read_text(encoding="utf-8") for path in (PACKAGE / "web" / "templates").glob("*.html"))
    return in_code | {text for template in templates for text in TEMPLATE_TEXT.findall(template)}


def words() -> set[str]:
    """Return the values, labels and help texts of other packages that pages translate one by one."""
    meanings = (*STATE_MEANINGS.values(), *SHORTAGE_MEANINGS.values())
    states: Iterable[str] = (*ItemState, *meanings, *Validation, *AsideDecision)
    helps = {publication_field_help(field) for field in PublicationConfig.model_fields}
    helps |= {source_field_help(field) for field in TEXT_FIELDS} | set(filter(None, _category_texts()))
    kinds = {kind.name.lower() for kind in LinkKind}
    own = {str(word) for word in (*PERIODS, *STRATEGIES, *states, *Role)} | kinds | {role.with_article for role in Role}
    reasons = {template for template in REASON_TEMPLATES.values() if has_words(template)}
    database = {*OUTAGE_MESSAGES.values(), *(template for _, template in CONNECTION_MESSAGES), ALL_IN_USE}
    return own | helps | reasons | database | PYDANTIC_MESSAGES


def messages() -> set[str]:
    """Return the templates in `TRANSLATED` that have words."""
    paths = {path for name in TRANSLATED for path in _files(PACKAGE / name)}
    return {call.template for path in paths for call in _message_calls(path) if has_words(call.template)}


def message_calls() -> list[MessageCall]:
    """Return the calls of the package that make a message or an error with one."""
    return [call for path in sorted(PACKAGE.rglob("*.py")) for call in _message_calls(path)]


def has_words(template: str) -> bool:
    """Whether a template has words to translate, not only values and signs."""
    return any(word.isalpha() for text, *_ in Formatter().parse(template) for word in text)


def parameters(template: str) -> list[tuple[str, str | None, str | None]]:
    """Return the parameters in a template with their formats, sorted."""
    places = Formatter().parse(template)
    found = [(name, spec, conversion) for _, name, spec, conversion in places if name is not None]
    return sorted(found, key=str)


@cache
def message_classes() -> frozenset[str]:
    """Return the names of `Message` and of the errors that are made of a template."""
    bases = {
        node.name: {ast.unparse(base).rpartition(".")[2] for base in node.bases}
        for path in PACKAGE.rglob("*.py")
        for node in _nodes(path)
        if isinstance(node, ast.ClassDef)
    }
    found = {"Message", "MessageError"}
    while more := {name for name, above in bases.items() if above & found} - found:
        found |= more
    return frozenset(found)


def _category_texts() -> Iterator[str]:
    """Yield the titles and questions of the stream categories; their choices are names."""
    for category in categories().values():
        yield from (category.title, category.help)
        for question in form_questions(category):
            yield from (question.label, question.help)


def _files(path: Path) -> list[Path]:
    assert path.exists(), f"{path} has moved: change TRANSLATED"
    return [path] if path.is_file() else sorted(path.rglob("*.py"))


def _nodes(path: Path) -> Iterator[ast.AST]:
    return ast.walk(ast.parse(path.read_text(encoding="utf-8")))


def _arguments(path: Path, called: frozenset[str]) -> Iterator[str]:
    for node in _nodes(path):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in called:
            for argument in node.args:
                yield from _texts(argument)


def _message_calls(path: Path) -> Iterator[MessageCall]:
    for node in _nodes(path):
        if isinstance(node, ast.Call) and node.args and _makes_message(node.func):
            yield from _templates(path, node, node.args[0])


def _templates(path: Path, call: ast.Call, first: ast.expr) -> Iterator[MessageCall]:
    where = f"{path.relative_to(ROOT)}:{call.lineno}"
    match first:
        case ast.Constant(value=str(text)):
            names = frozenset(one.arg for one in call.keywords if one.arg not in OPTIONS)
            yield MessageCall(where, text, names, False)
        case ast.JoinedStr():
            yield MessageCall(where, ast.unparse(first), frozenset(), True)
        case ast.IfExp(body=body, orelse=other):
            yield from _templates(path, call, body)
            yield from _templates(path, call, other)


def _makes_message(called: ast.expr) -> bool:
    return ast.unparse(called).rpartition(".")[2] in message_classes() or ast.unparse(called) == "super().__init__"


def _texts(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from _texts(node.body)
        yield from _texts(node.orelse)
