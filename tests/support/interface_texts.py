"""Every text that somebody reads on the pages, found in the code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from tarantula.accounts.roles import Role
from tarantula.core.states import STATE_MEANINGS, ItemState, Validation
from tarantula.core.times import PERIODS
from tarantula.frontier.strategies import STRATEGIES
from tarantula.links.link import LinkKind
from tarantula.publications.attention import MEASURES, STATE_MEASURE
from tarantula.publications.config import PublicationConfig
from tarantula.store.transitions import DEADLINE_REASON, STOPPED_REASON
from tarantula.streams.categories import categories
from tarantula.streams.categories.category import form_questions
from tarantula.web.components.publication_form import publication_field_help
from tarantula.web.components.source_form import TEXT_FIELDS
from tarantula.web.components.source_form import source_field_help as help_of_source
from tests.support.crawls import ROOT

PACKAGE = ROOT / "tarantula"
IN_TEMPLATE = re.compile(r"""_\("([^"]*)\"""")
NAMED_PLACE = re.compile(r"\{\w+\}")
MARKING = frozenset({"_", "mark"})
RAISED = frozenset(
    {"TarantulaError", "ConflictError", "ExpressionError", "NotAllowed", "NotFoundError", "ValueError"}
    | {"BodyTooLarge", "FetchTimeout", "InvalidRequest", "InvalidResponse", "NoStatusCode", "PrivateAddress"}
    | {"ConditionSyntaxError", "ServerUnreachable", "Verdict", "accept", "at_least", "more_than_zero", "refuse"}
    | {"_not_written", "_refuse", "_take"}
)
"""Calls whose argument is a sentence that a page may show."""
RETURNING = (
    "core/messages.py",
    "crawl/responses.py",
    "fetch/connection.py",
    "fetch/robots.py",
    "streams/alerts/reasons.py",
    "streams/views/config.py",
)
"""Files whose functions return such sentences."""
VARIABLES = frozenset({"reason", "more", "complaint", "ever", "within"})
"""Variables that hold such a sentence, or a part of one."""
OF_PYDANTIC = {
    "input should be a valid integer, unable to parse string as an integer",
    "input should be a valid number, unable to parse string as a number",
}
"""Messages of pydantic about invalid numbers."""
COUNTED = {"link", "links", "unknown", "No", "accepted", "dismissed"}
SENTENCES = (
    "accounts",
    "core/messages.py",
    "core/states.py",
    "core/times.py",
    "crawl/responses.py",
    "fetch",
    "lifecycle",
    "publications",
    "scope",
    "search/__init__.py",
    "search/barrels/client.py",
    "services",
    "services/streams",
    "store/transitions.py",
    "streams/alerts",
    "streams/ingest/type_change.py",
    "streams/picker",
    "streams/sources/config.py",
    "streams/sources/registry.py",
    "streams/texts.py",
    "streams/views",
    "web/components/source_form.py",
    "web/picker",
)
"""Files and folders with sentences about what people write and do; the pages show those of other places in English."""
WHOLE = (
    "streams/adapters",
    "streams/categories/category.py",
    "streams/ingest/decisions.py",
    "streams/ingest/failures.py",
    "streams/ingest/memory.py",
    "streams/ingest/readings.py",
    "streams/ingest/value_typing.py",
    "streams/reading/answers.py",
    "streams/reading/visits.py",
    "streams/relocate",
    "streams/selectors.py",
    "streams/sources/config.py",
    "streams/sources/request.py",
    "streams/sources/retention.py",
    "streams/texts.py",
    "streams/values",
)
"""Files and folders in which every sentence may be shown: why a value was not read, or what is wrong with a source."""
NOTES = ("search/finder.py", "search/queries/parser.py", "streams/alerts/replay.py")
"""Files that append notes about how a query was understood."""


def marked() -> set[str]:
    """Return the texts that the pages themselves say: ``_("…")`` and ``mark("…")``."""
    in_code = {text for path in (PACKAGE / "web").rglob("*.py") for text in _arguments(path, MARKING)}
    templates = (path.read_text(encoding="utf-8") for path in (PACKAGE / "web" / "templates").glob("*.html"))
    return in_code | {text for template in templates for text in IN_TEMPLATE.findall(template)}


def words() -> set[str]:
    """Return the words of the stages that pages translate one by one."""
    chosen: Iterable[str] = (*PERIODS, *STRATEGIES, *ItemState, *Validation, *Role, *STATE_MEANINGS.values())
    helps = {publication_field_help(field) for field in PublicationConfig.model_fields} | {
        help_of_source(field) for field in TEXT_FIELDS
    }
    helps |= set(filter(None, _of_categories()))
    kinds = {kind.name.lower() for kind in LinkKind}
    return {str(word) for word in chosen} | helps | kinds | {role.somebody for role in Role} | OF_PYDANTIC | COUNTED


def _of_categories() -> Iterator[str]:
    """Yield what ready-made categories are called, and what they ask; their choices are names."""
    for category in categories().values():
        yield from (category.title, category.help)
        for question in form_questions(category):
            yield from (question.label, question.help)


def sentences() -> set[str]:
    """Return what the stages say of what people write and do, with ``{}`` in the place of values."""
    paths = [path for name in SENTENCES for path in _files(PACKAGE / name)]
    said = {text for path in paths for text in (*_arguments(path, RAISED), *_named(path), *_returned(path))}
    measures = {f"{measure.sentence} ({{}})." for measure in (*MEASURES.values(), STATE_MEASURE)}
    said |= {text for name in WHOLE for path in _files(PACKAGE / name) for text in _whole(path)}
    said |= {text for name in NOTES for text in _arguments(PACKAGE / name, frozenset({"append"}))}
    return (
        {text for text in said if " " in text.replace("{}", "").strip()} | measures | {STOPPED_REASON, DEADLINE_REASON}
    )


def _files(path: Path) -> list[Path]:
    return [path] if path.is_file() else sorted(path.glob("*.py"))


def _nodes(path: Path) -> Iterator[ast.AST]:
    return ast.walk(ast.parse(path.read_text(encoding="utf-8")))


def _arguments(path: Path, called: frozenset[str]) -> Iterator[str]:
    for node in _nodes(path):
        if isinstance(node, ast.Call) and _name(node.func) in called:
            for argument in node.args:
                yield from _texts(argument)


def _named(path: Path) -> Iterator[str]:
    for node in _nodes(path):
        if isinstance(node, ast.Assign) and any(_name(target) in VARIABLES for target in node.targets):
            yield from _texts(node.value)


def _returned(path: Path) -> Iterator[str]:
    """Yield the sentences that functions put together for others, where that is all they do."""
    if str(path.relative_to(PACKAGE)) in RETURNING:
        for node in _nodes(path):
            if isinstance(node, ast.Return) and node.value is not None:
                yield from _texts(node.value)


def _whole(path: Path) -> Iterator[str]:
    """Yield everything that is a sentence, or the end of one: what begins with a small letter follows a value."""
    nodes = list(_nodes(path))
    left_out = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    left_out |= {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    left_out |= {id(part) for node in nodes if isinstance(node, ast.Call) and _is_logged(node) for part in node.args}
    for node in nodes:
        if isinstance(node, ast.expr) and not isinstance(node, ast.IfExp) and id(node) not in left_out:
            for text in _texts(node):
                said = NAMED_PLACE.sub("{}", text)
                if said.endswith((".", "?", ".{}")) and " " in said.strip() and "\\" not in said:
                    yield f"{{}} {said}" if said[0].islower() else said


def _is_logged(call: ast.Call) -> bool:
    return (
        isinstance(call.func, ast.Attribute)
        and isinstance(call.func.value, ast.Name)
        and call.func.value.id == "logger"
    )


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _texts(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.JoinedStr):
        yield "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    elif isinstance(node, ast.IfExp):
        yield from _texts(node.body)
        yield from _texts(node.orelse)
