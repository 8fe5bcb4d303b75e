"""The pages on validation, differences and integration agree with the code."""

from __future__ import annotations

import ast
import inspect
import re
from dataclasses import fields
from typing import Any

import pytest

from tarantula.archive.diff import items
from tarantula.archive.diff import pages as text_diff
from tarantula.archive.quality import baseline, indicators, validation
from tarantula.publications import attention
from tarantula.publications.config import DEFAULT_ATTENTION_RULES, DEFAULT_INCOMPLETE_RULES
from tarantula.services import deposit
from tests.support import documentation
from tests.support.crawls import ROOT


def names(kind: Any) -> list[str]:
    return list(kind._fields) if hasattr(kind, "_fields") else [field.name for field in fields(kind)]


def test_every_indicator_is_listed_with_its_unit() -> None:
    listed = {
        row[0].strip("`"): row[1]
        for row in documentation.rows(documentation.section(documentation.read("validation.md"), "Rules"))
    }
    assert listed == {name: unit.value or "number" for name, unit in attention.MEASURES.items()}


def test_the_default_rules_are_listed() -> None:
    spans = documentation.spans(documentation.section(documentation.read("validation.md"), "Rules"))
    assert "; ".join(DEFAULT_ATTENTION_RULES) in spans
    assert "; ".join(DEFAULT_INCOMPLETE_RULES) in spans


@pytest.mark.parametrize(
    ("page", "heading", "kind"),
    [
        ("validation.md", "rules", attention.FiredRule),
        ("validation.md", "decisions", validation.ItemDecision),
        ("validation.md", "indicators", indicators.Indicators),
        ("validation.md", "requisites", indicators.Requisites),
        ("validation.md", "mirror", indicators.MirrorContents),
        ("validation.md", "base", baseline.BaseDocument),
        ("validation.md", "before", baseline.BaselineComparison),
        ("diff.md", "by_url", items.UrlCounts),
        ("diff.md", "by_content", items.ContentCounts),
        ("diff.md", "text", text_diff.TextDiff),
        ("diff.md", "lines", text_diff.DiffLine),
        ("add-decision-hook.md", "Add a decision hook", validation.ItemDecision),
    ],
)
def test_every_key_is_listed(page: str, heading: str, kind: Any) -> None:
    assert documentation.first_column(documentation.section(documentation.read(page), heading)) == names(kind)


def test_every_key_of_a_difference_is_listed() -> None:
    text = documentation.read("diff.md")
    assert documentation.first_column(documentation.section(text, "documents")) == [
        *names(items.DocumentDifference),
        "text",
    ]
    assert documentation.first_column(documentation.section(text, "JSON")) == [
        *names(items.DiffSummary),
        "documents",
        "left_out",
    ]


def test_every_change_is_listed_in_its_order() -> None:
    listed = documentation.first_column(
        documentation.section(documentation.read("diff.md"), "Difference between two items")
    )
    assert listed == sorted(map(str, items.DocumentChange))


def public() -> dict[str, str]:
    """Return all functions and methods of the interface with their signatures as on the page."""
    found = dict(
        inspect.getmembers(deposit, lambda thing: inspect.isfunction(thing) and thing.__module__ == deposit.__name__)
    )
    methods = inspect.getmembers(deposit.Deposit, inspect.isfunction)
    found |= {f"Deposit.{name}": method for name, method in methods}
    return {name: signature(function) for name, function in found.items() if not re.search(r"(^|\.)_", name)}


def signature(function: Any) -> str:
    parameters = [one for one in inspect.signature(function).parameters.values() if one.name != "self"]
    return ", ".join(str(one.replace(annotation=one.empty)).replace("''", '""') for one in parameters)


def test_every_public_function_is_documented_with_its_arguments() -> None:
    listed = documentation.first_column(
        documentation.section(documentation.read("integration.md"), "The deposit, from Python")
    )
    assert "Deposit.items" in public()
    assert sorted(listed) == sorted(f"{name}({arguments})" for name, arguments in public().items())


def test_the_public_interface_has_docstrings() -> None:
    for name in public():
        thing = getattr(deposit, name, None) or getattr(deposit.Deposit, name.partition(".")[2])
        assert (thing.__doc__ or "").endswith("."), name


def test_blocks_of_python_can_be_parsed() -> None:
    for block in documentation.blocks(documentation.read("integration.md"), "python"):
        ast.parse(block)


def test_the_decision_hook_is_that_of_the_examples() -> None:
    first, *_ = documentation.blocks(documentation.read("add-decision-hook.md"), "python")
    assert first in (ROOT / "examples" / "extensions" / "decision_hook.py").read_text(encoding="utf-8")
