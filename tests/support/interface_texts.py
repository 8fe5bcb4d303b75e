"""Texts of the interface, extracted from the code: the keys that a translation must and may have."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from tarantula.accounts.roles import Role
from tarantula.core.reasons import REASON_TEMPLATES
from tarantula.core.states import STATE_MEANINGS, ItemState, Validation
from tarantula.core.times import PERIODS
from tarantula.frontier.strategies import STRATEGIES
from tarantula.links.link import LinkKind
from tarantula.publications.attention import MEASURES, STATE_MEASURE
from tarantula.publications.config import PublicationConfig
from tarantula.streams.categories import categories
from tarantula.streams.categories.category import form_questions
from tarantula.web.components.publication_form import publication_field_help
from tarantula.web.components.source_form import TEXT_FIELDS, source_field_help
from tests.support.crawls import ROOT

PACKAGE = ROOT / "tarantula"
TEMPLATE_TEXT = re.compile(r"""_\("([^"]*)\"""")
NAMED_PLACE = re.compile(r"\{\w+\}")
MARKERS = frozenset({"_", "mark"})
PYDANTIC_MESSAGES = {
    "input should be a valid integer, unable to parse string as an integer",
    "input should be a valid number, unable to parse string as a number",
}
VALUES = {"link", "links", "unknown", "No", "accepted", "dismissed"}
"""Single words that are values of translated sentences."""
TRANSLATED = (
    "accounts/accounts.py",
    "accounts/credentials.py",
    "accounts/roles.py",
    "accounts/sessions.py",
    "accounts/tokens.py",
    "lifecycle/control.py",
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
    "web/components",
    "web/picker",
)
"""Files and folders whose errors all have a translation; errors of other places may be shown in English."""


def marked() -> set[str]:
    """Return the texts in ``_("…")`` and ``mark("…")``, in code and templates."""
    in_code = {text for path in (PACKAGE / "web").rglob("*.py") for text in _arguments(path, MARKERS)}
    templates = (path.read_text(encoding="utf-8") for path in (PACKAGE / "web" / "templates").glob("*.html"))
    return in_code | {text for template in templates for text in TEMPLATE_TEXT.findall(template)}


def words() -> set[str]:
    """Return the values, labels and help texts of other packages that pages translate one by one."""
    chosen: Iterable[str] = (*PERIODS, *STRATEGIES, *ItemState, *Validation, *Role, *STATE_MEANINGS.values())
    helps = {publication_field_help(field) for field in PublicationConfig.model_fields}
    helps |= {source_field_help(field) for field in TEXT_FIELDS} | set(filter(None, _category_texts()))
    kinds = {kind.name.lower() for kind in LinkKind}
    measures = {f"{measure.sentence} ({{}})." for measure in (*MEASURES.values(), STATE_MEASURE)}
    own = {str(word) for word in chosen} | kinds | {role.with_article for role in Role}
    reasons = {template for template in REASON_TEMPLATES.values() if " " in template}
    return own | helps | measures | reasons | PYDANTIC_MESSAGES | VALUES


def errors() -> set[str]:
    """Return the sentences of the exceptions raised in `TRANSLATED`, with ``{}`` in place of values."""
    paths = [path for name in TRANSLATED for path in _files(PACKAGE / name)]
    raised = {text for path in paths for text in _raised(path)}
    return {text for text in raised if " " in text.replace("{}", "").strip()}


def literals() -> set[str]:
    """Return every string of the code as a translation may name it: with ``{}`` in place of values."""
    found = set[str]()
    for path in PACKAGE.rglob("*.py"):
        for node in _nodes(path):
            if isinstance(node, ast.expr):
                for text in _texts(node):
                    sentence = NAMED_PLACE.sub("{}", text)
                    # A text that begins with a small letter is put behind the value that it is about.
                    found |= {text, sentence, f"{{}} {sentence}"}
    return found


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


def _raised(path: Path) -> Iterator[str]:
    for node in _nodes(path):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            for argument in node.exc.args:
                for text in _texts(argument):
                    yield NAMED_PLACE.sub("{}", text)


def _texts(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.JoinedStr):
        yield "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    elif isinstance(node, ast.IfExp):
        yield from _texts(node.body)
        yield from _texts(node.orelse)
