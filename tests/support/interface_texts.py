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
SAYING = frozenset(
    {"TarantulaError", "NotAllowed", "NotAnExpression", "NotNow", "NotThere", "ValueError"}
    | {"CannotAsk", "InvalidResponse", "NoCode", "NotReached", "PrivateAddress", "TookTooLong", "TooLarge"}
    | {
        "NotUnderstood",
        "accept",
        "at_least",
        "more_than_nothing",
        "refuse",
        "_refuse",
        "_not_written",
        "_take",
        "Verdict",
    }
)
"""What is called with a sentence that a page may show."""
RETURNING = frozenset({"answers.py", "failures.py", "fitting.py", "reasons.py", "robots.py", "sentences.py"})
"""The files whose functions return them."""
NAMED = frozenset({"reason", "more", "complaint", "ever", "within"})
"""What such a sentence, or a part of it, is called before it is said."""
OF_PYDANTIC = {
    "input should be a valid integer, unable to parse string as an integer",
    "input should be a valid number, unable to parse string as a number",
}
"""What pydantic says of numbers that are none."""
COUNTED = {"link", "links", "unknown", "No", "accepted", "dismissed"}
SENTENCES = (
    "archive/rules.py",
    "catalogue.py",
    "collecting/answers.py",
    "download",
    "life",
    "management",
    "management/streams",
    "people",
    "publications",
    "robots.py",
    "scope",
    "search/__init__.py",
    "search/barrels/remote.py",
    "sentences.py",
    "servers.py",
    "states.py",
    "streams/alerts",
    "streams/keeping/retyping.py",
    "streams/patterns.py",
    "streams/picking",
    "streams/sources/registry.py",
    "streams/sources/source.py",
    "streams/sources/steps.py",
    "streams/views",
    "web/parts/streams/pairs_box.py",
    "web/parts/streams/source_form.py",
    "web/parts/streams/way_there.py",
    "web/picking",
)
"""Where sentences are said of what people write and do; those of other places are shown in English."""
WHOLE = (
    "streams/adapters",
    "streams/categories/making.py",
    "streams/document.py",
    "streams/element_place.py",
    "streams/followed_rows.py",
    "streams/found",
    "streams/keeping/deciding.py",
    "streams/keeping/keeping.py",
    "streams/keeping/misses.py",
    "streams/keeping/typing_values.py",
    "streams/keeping/usual.py",
    "streams/reading/answering.py",
    "streams/reading/visit.py",
    "streams/selectors.py",
    "streams/sources/retention.py",
    "streams/sources/interval.py",
    "streams/sources/names.py",
    "streams/sources/sent.py",
    "streams/sources/source.py",
    "streams/sources/source_field.py",
    "streams/sources/variables.py",
    "streams/texts.py",
    "streams/types",
    "streams/xml_trees.py",
)
"""Where every sentence is one that a page may show: why a value was not read, or a source is not as it should be."""
NOTES = ("search/finding/finder.py", "search/queries/query.py", "streams/alerts/replaying.py")
"""Where notes are gathered of what was done with a query."""


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
    said = {text for path in paths for text in (*_arguments(path, SAYING), *_named(path), *_returned(path))}
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
        if isinstance(node, ast.Assign) and any(_name(target) in NAMED for target in node.targets):
            yield from _texts(node.value)


def _returned(path: Path) -> Iterator[str]:
    """Yield the sentences that functions put together for others, where that is all they do."""
    if path.name in RETURNING:
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
