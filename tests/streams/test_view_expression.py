"""Formulas: their results, and what they refuse."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as given_by

from tarantula.streams.views.cells import WindowSummary
from tarantula.streams.views.expression import MAX_FORMULA_CHARS, ExpressionError, parse_expression

WINDOW = {"a": WindowSummary(4, 10.0, 1.0, 5.0, 2.0, 5.0), "b": WindowSummary(3)}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("2 - 3 - 4", -5),
        ("24 / 4 / 2", 3),
        ("2 ^ 3 ^ 2", 512),
        ("-2 ^ 2", -4),
        ("2 ^ -1", 0.5),
        ("--3", 3),
        ("((a))", 8),
        ("A * b", 16),
        ("(a − b) ÷ b × 100", 300),
        ("mean(a) + count(a)", 6.5),
        ("max(a) - min(a)", 4),
        ("max(a, b, 20)", 20),
        ("change(a)", 3),
        ("round(a / 3, 2)", 2.67),
        ("abs(b - a) + sqrt(4) + log(100)", 10),
        (".5 * 2.", 1),
    ],
)
def test_results_are_correct(text: str, value: float) -> None:
    found = parse_expression(text).value({"a": 8.0, "b": 2.0}, WINDOW)
    assert found == pytest.approx(value)


@pytest.mark.parametrize(
    "text", ["a / 0", "c + 1", "sqrt(0 - a)", "10 ^ 400", "(0 - 8) ^ 0.5", "mean(b)", "count(c)", "log(0)", "0 ^ -1"]
)
def test_undefined_results_are_missing(text: str) -> None:
    assert parse_expression(text).value({"a": 8.0, "c": None}, WINDOW) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "ends too early"),
        ("1 +", "ends too early"),
        ("(1", "is missing"),
        ("1 2", "from '2' on"),
        ("2 (3)", "from '(' on"),
        ("a.b", "The character '.'"),
        ("__import__('os')", "The character '_'"),
        ("eval(a)", "There is no function 'eval'"),
        ("price", "where a number or a letter is expected"),
        ("mean(a + 1)", "Write it as mean(a)"),
        ("a ** b", "The formula has '*' where"),
        ("(" * 100 + "a" + ")" * 100, "too many nested parentheses"),
        ("2" + " ^ 2" * 100, "too many nested powers"),
        ("1" * (MAX_FORMULA_CHARS + 1), f"at most {MAX_FORMULA_CHARS}"),
    ],
)
def test_invalid_formulas_are_refused_with_a_sentence(text: str, said: str) -> None:
    with pytest.raises(ExpressionError) as refused:
        parse_expression(text)
    assert said in str(refused.value)


def test_a_formula_lists_its_letters() -> None:
    expression = parse_expression("(a - mean(b)) / C")
    assert sorted(expression.letters) == ["a", "b", "c"]
    assert sorted(expression.windowed) == ["b"]


TEXTS = given_by.recursive(
    given_by.sampled_from(["a", "b", "1", "2.5", "10"]),
    lambda inner: given_by.builds("({} {} {})".format, inner, given_by.sampled_from("+-*/"), inner),
    max_leaves=12,
)


@given(text=TEXTS, a=given_by.integers(-9, 9), b=given_by.integers(-9, 9))
def test_results_agree_with_python(text: str, a: int, b: int) -> None:
    try:
        wanted = eval(text, {}, {"a": float(a), "b": float(b)})
    except ZeroDivisionError:
        wanted = None
    found = parse_expression(text).value({"a": float(a), "b": float(b)}, {})
    assert found == wanted or math.isclose(found or 0, wanted or 0)


@given(text=given_by.text(alphabet="ab1.+-*/^(), meanxu", max_size=30))
def test_any_text_is_computed_or_refused(text: str) -> None:
    try:
        expression = parse_expression(text)
    except ExpressionError:
        return
    found = expression.value({"a": 3.0, "b": -1.0}, WINDOW)
    assert found is None or math.isfinite(found)
