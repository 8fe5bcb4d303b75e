"""Attention rules: parsing, errors, and when they fire."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarantula.core.errors import TarantulaError
from tarantula.publications.attention import (
    MEASURES,
    AttentionRule,
    FiredRule,
    IndicatorUnit,
    evaluate_rules,
    parse_rule,
)
from tarantula.publications.config import DEFAULT_ATTENTION_RULES, DEFAULT_INCOMPLETE_RULES, read_config


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("errors > 20%", "errors > 20%"),
        (" ERRORS>20.50 % ", "errors > 20.5%"),
        ("documents < -30%", "documents < -30%"),
        ("collected < 10", "collected < 10"),
        ("404 > 10%", "404 > 10%"),
        ("-7>0%", "-7 > 0%"),
        ("base-missing", "base-missing"),
    ],
)
def test_a_rule_has_one_form(text: str, canonical: str) -> None:
    assert str(parse_rule(text)) == canonical
    assert parse_rule(canonical) == parse_rule(text)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("errors", "errors is a percentage, as in 'errors > 20%'"),
        ("errors > 20", "errors is a percentage"),
        ("collected > 20%", "collected is a number, as in 'collected > 20'"),
        ("base-missing > 1", "base-missing is a yes-or-no indicator and takes no limit"),
        ("error > 20%", "There is no indicator 'error'. Did you mean errors?"),
        ("errors = 20%", "'errors = 20%' is not a rule"),
        ("errors > 1e9%", "is not a rule"),
        ("errors > nan%", "is not a rule"),
        ("", "is not a rule"),
        ("x" * 5000, "There is no indicator"),
    ],
)
def test_invalid_rules(text: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=r"rule|indicator") as error:
        parse_rule(text)
    assert sentence in str(error.value)


@given(
    st.sampled_from([name for name, measure in MEASURES.items() if measure is not IndicatorUnit.FLAG] + ["404", "-11"]),
    st.sampled_from("<>"),
    st.decimals(-99999, 99999, places=3),
)
def test_a_canonical_rule_is_parsed_back(name: str, sign: str, limit: object) -> None:
    rule = AttentionRule(name, sign, float(str(limit)))
    assert parse_rule(str(rule)) == rule


@pytest.mark.parametrize(
    ("rule", "values", "fires"),
    [
        ("errors > 20%", {"errors": 20.0}, False),
        ("errors > 20%", {"errors": 20.1}, True),
        ("documents < -30%", {"documents": -30.5}, True),
        ("documents < -30%", {"documents": None}, False),
        ("base-changed", {"base-changed": None}, False),
        ("base-changed", {"base-changed": 1.0}, True),
        ("base-missing", {"base-missing": 0.0}, False),
        ("404 > 10%", {"404": 11.0}, True),
        ("404 > 10%", {}, False),
        ("200 < 50%", {}, True),
    ],
)
def test_when_a_rule_fires(rule: str, values: dict[str, float | None], fires: bool) -> None:
    assert parse_rule(rule).fires(values) is fires


def test_the_sentence_of_a_fired_rule() -> None:
    values = {"errors": 34.26, "base-missing": 1.0}
    assert evaluate_rules(values, ["errors > 20%"], ["base-missing"]) == [
        FiredRule(
            "base-missing",
            "incomplete",
            1.0,
            "The base document was not collected (base-missing).",
            "indicator_base_missing",
            {"rule": "base-missing"},
        ),
        FiredRule(
            "errors > 20%",
            "attention",
            34.26,
            "34.3% of the requested documents failed (errors > 20%).",
            "indicator_errors",
            {"value": "34.3%", "rule": "errors > 20%"},
        ),
    ]


def test_rules_of_a_publication_can_be_changed_and_removed() -> None:
    plain = read_config({"name": "a", "base_url": "a.pt"})
    assert (plain.attention, plain.incomplete) == (list(DEFAULT_ATTENTION_RULES), list(DEFAULT_INCOMPLETE_RULES))
    own = read_config({"name": "a", "base_url": "a.pt", "attention": "errors>5%; 404 > 1%", "incomplete": ""})
    assert (own.attention, own.incomplete) == (["errors > 5%", "404 > 1%"], [])
    with pytest.raises(TarantulaError, match="There is no indicator 'erors'"):
        read_config({"name": "a", "base_url": "a.pt", "incomplete": "erors > 5%"})
