"""Reference tables of the documentation agree with the code."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from dataclasses import fields
from importlib import import_module
from pkgutil import iter_modules, resolve_name
from typing import Any

import pytest

from tarantula import scope
from tarantula.archive.mirror.conversion import MirrorResult
from tarantula.archive.quality import report
from tarantula.cli.options import FLAGS
from tarantula.cli.revisit import miss_text
from tarantula.core.database import Database
from tarantula.core.states import ITEM_TRANSITIONS, STATE_MEANINGS, DocumentState, ItemState, Validation
from tarantula.freshness.plan import ServerPlanSummary, VisitPlanSummary, VisitSummary
from tarantula.freshness.report import Calibration, CalibrationBin, FreshnessEstimate, FreshnessReport
from tarantula.items import CollectedDocument, FrontierEntry
from tarantula.links import link
from tarantula.links.link import LinkKind
from tarantula.models import Base
from tarantula.publications import document_types
from tarantula.publications.config import PublicationConfig
from tarantula.publications.patterns import ServerPatterns
from tarantula.revisit.planning import PLANNING_POLICIES
from tarantula.revisit.policies import POLICIES
from tarantula.revisit.rates.estimators import estimator_errors
from tarantula.scope.limits import EXTRA_DEPTH
from tarantula.store.listings import DocumentRow, ItemRow
from tests.support import documentation

CONSTANT = re.compile(r"`([a-z_.]+)\.([A-Z_]+)`")
FIELDS = documentation.rows(documentation.section(documentation.read("publications.md"), "Fields"))
LIMITS = [
    pytest.param(row, id=f"{page.stem}-{row[0]}")
    for page in sorted(documentation.DOCS.glob("*.md"))
    for row in documentation.rows(page.read_text(encoding="utf-8"))
    if CONSTANT.fullmatch(row[-1])
]


def default_of(field: str) -> str:
    info = PublicationConfig.model_fields[field]
    default = "" if info.is_required() else info.get_default(call_default_factory=True)
    if isinstance(default, bool):
        return "yes" if default else "no"
    if default is None:
        return "none"
    if isinstance(default, list) and default:
        return "; ".join(default)
    return str(default) if default or info.is_required() else "empty"


def test_every_field_of_a_publication_is_listed() -> None:
    assert [row[0].strip("`") for row in FIELDS] == list(PublicationConfig.model_fields)


@pytest.mark.parametrize(
    "row",
    documentation.rows(documentation.section(documentation.read("publications.md"), "Fields")),
    ids=lambda row: row[0],
)
def test_options_and_defaults_are_those_of_the_code(row: list[str]) -> None:
    field, option, default = row[0].strip("`"), documentation.spans(row[1]), row[2]
    if field not in ("name", "base_url"):
        flag = FLAGS.get(field, f"--{field.replace('_', '-')}")
        is_switch = PublicationConfig.model_fields[field].annotation is bool
        assert option == ([flag, f"--no-{flag[2:]}"] if is_switch else [flag])
    assert default == default_of(field)


def test_every_type_is_listed_with_its_extensions(sqlite: Database) -> None:
    section = documentation.section(documentation.read("publications.md"), "Types")
    with sqlite.reading() as session:
        known = {row.mime: row.extensions for row in document_types.all_types(session)}
    assert {row[0].strip("`"): row[1].split() for row in documentation.rows(section)} == known
    assert f"these {len(known)} types" in section


def test_every_profile_is_listed(sqlite: Database) -> None:
    with sqlite.reading() as session:
        known = {row.name for row in document_types.all_profiles(session)}
    assert (
        set(documentation.first_column(documentation.section(documentation.read("publications.md"), "Profiles")))
        == known
    )


def test_every_document_state_is_listed() -> None:
    section = documentation.section(documentation.read("states.md"), "Documents")
    listed = {int(row[0]): (row[1].strip("`"), row[2]) for row in documentation.rows(section) if row[1]}
    assert listed == {int(state): (state.name, STATE_MEANINGS[state]) for state in DocumentState}


def test_every_item_state_is_listed_with_its_moves() -> None:
    listed = [
        row
        for row in documentation.rows(documentation.section(documentation.read("states.md"), "Items"))
        if len(row) == 3
    ]
    assert {row[0].strip("`"): set(documentation.spans(row[2])) for row in listed} == {
        str(state): {str(new) for new in ITEM_TRANSITIONS[state]} for state in ItemState
    }


def test_every_validation_is_listed() -> None:
    listed = [
        row
        for row in documentation.rows(documentation.section(documentation.read("states.md"), "Items"))
        if len(row) == 2
    ]
    assert [row[0].strip("`") for row in listed] == [str(validation) for validation in Validation]


def rule_classes() -> set[str]:
    modules = [import_module(f"tarantula.scope.{module.name}") for module in iter_modules(scope.__path__)]
    return {
        name
        for module in modules
        for name, found in inspect.getmembers(module, inspect.isclass)
        if found.__module__ == module.__name__ and hasattr(found, "judge")
    } - {"ScopeRule", "Scope"}


def test_every_rule_is_listed() -> None:
    text = documentation.section(documentation.read("scope.md"), "The rules, in order")
    assert "TooDeep" in rule_classes()
    assert set(documentation.first_column(text)) == rule_classes() - {"Servers"}
    assert "Servers" in documentation.spans(text)


@pytest.mark.parametrize(
    "row", documentation.rows(documentation.section(documentation.read("scope.md"), "Servers")), ids=lambda row: row[0]
)
def test_server_patterns_match_as_listed(row: list[str]) -> None:
    patterns = ServerPatterns(documentation.spans(row[0]))
    assert all(patterns.match(server) for server in documentation.spans(row[1]))
    assert not any(patterns.match(server) for server in documentation.spans(row[2]))


def test_steps_past_the_depth_are_those_of_the_code() -> None:
    listed = documentation.rows(documentation.section(documentation.read("scope.md"), "Depth and requisites"))
    steps = {documentation.spans(row[0])[0]: row[1] for row in listed}
    assert steps.keys() == LinkKind.__members__.keys()
    assert {name: int(number) for name, number in steps.items() if number.isdigit()} == {
        kind.name: EXTRA_DEPTH[kind] for kind in LinkKind if kind is not LinkKind.REDIRECT
    }


@pytest.mark.parametrize(
    ("heading", "places"),
    [
        ("HTML", link.HTML),
        ("SVG", link.SVG),
        ("Sitemaps", link.SITEMAP),
        ("RSS", link.RSS),
        ("Atom", link.ATOM),
        ("Unvisited", link.UNVISITED),
    ],
)
def test_every_place_of_a_link_is_listed(heading: str, places: link.LinkPlaces) -> None:
    listed = {
        (element, place.strip("`"), row[2])
        for row in documentation.rows(documentation.section(documentation.read("links.md"), heading))
        for element in documentation.spans(row[0])
        for place in row[1].split(", ")
    }
    assert listed == {
        (element, place.attribute or "text", place.kind.name.lower())
        for element, found in places.items()
        for place in found
    }


def test_every_kind_of_link_is_listed() -> None:
    section = documentation.section(documentation.read("links.md"), "What for")
    assert documentation.first_column(section) == [kind.name for kind in LinkKind]


@pytest.mark.parametrize("table", Base.metadata.sorted_tables, ids=str)
def test_every_column_is_listed(table: Any) -> None:
    section = documentation.section(documentation.read("store.md"), table.name)
    assert documentation.first_column(section) == [column.name for column in table.columns]


@pytest.mark.parametrize(
    ("heading", "keys"),
    [
        ("JSON", [field.name for field in fields(report.ItemReport)]),
        ("totals", [field.name for field in fields(report.ReportTotals)]),
        ("states", [field.name for field in fields(report.StateCount)]),
        ("types", [field.name for field in fields(report.TypeCount)]),
        ("sizes", [field.name for field in fields(report.SizeCount)]),
        ("servers", [field.name for field in fields(report.ServerCount)]),
        ("belief", [field.name for field in fields(FreshnessReport)]),
        ("freshness", [field.name for field in fields(FreshnessEstimate)]),
        ("calibration", [field.name for field in fields(Calibration)]),
        ("classes", [field.name for field in fields(CalibrationBin)]),
        ("Items", list(ItemRow.model_fields)),
        ("Documents", list(DocumentRow._fields)),
    ],
)
def test_every_key_of_the_json_is_listed(heading: str, keys: Iterable[str]) -> None:
    assert documentation.first_column(documentation.section(documentation.read("reports.md"), heading)) == keys


@pytest.mark.parametrize(
    ("heading", "shown"), [("JSON", VisitPlanSummary), ("One server", ServerPlanSummary), ("One visit", VisitSummary)]
)
def test_every_key_of_a_plan_is_listed(heading: str, shown: Any) -> None:
    keys = [field.name for field in fields(shown)]
    assert documentation.first_column(documentation.section(documentation.read("freshness.md"), heading)) == keys


def test_the_table_of_estimators_is_what_the_command_prints() -> None:
    listed = documentation.rows(documentation.section(documentation.read("freshness.md"), "Estimators"))
    printed = [[f"{row.changes:g}", *map(miss_text, row.all)] for row in estimator_errors()]
    assert listed == printed


def test_every_policy_of_a_plan_is_listed() -> None:
    listed = documentation.rows(documentation.section(documentation.read("freshness.md"), "The plan"))
    assert {name for row in listed for name in documentation.spans(row[0])} == {*PLANNING_POLICIES, *POLICIES}


def test_every_key_of_a_conversion_is_listed() -> None:
    keys = [field.name for field in fields(MirrorResult)]
    assert documentation.first_column(documentation.section(documentation.read("mirror.md"), "JSON")) == keys


def test_every_attribute_of_a_document_is_listed() -> None:
    listed = documentation.rows(documentation.section(documentation.read("extending.md"), "Pipelines"))
    assert {row[0].strip("`") for row in listed} == {field.name for field in fields(CollectedDocument)} | {"reason"}
    (entry,) = [row[1] for row in listed if row[0] == "`entry`"]
    assert documentation.spans(entry) == [field.name for field in fields(FrontierEntry)]


def test_there_are_limits_to_check() -> None:
    assert len(LIMITS) > 20


@pytest.mark.parametrize("row", LIMITS)
def test_limits_are_those_of_the_code(row: list[str]) -> None:
    module, constant = CONSTANT.fullmatch(row[-1]).groups()  # type: ignore[union-attr]
    (number,) = re.findall(r"\d[\d,.]*", row[1])
    assert float(number.replace(",", "")) == float(resolve_name(f"tarantula.{module}:{constant}"))
