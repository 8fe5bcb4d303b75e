"""Conditions as text: parsed, or refused with a position and what was expected; and formatted again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from tarantula.streams.alerts.condition import (
    AlertCondition,
    AlertRule,
    AllCondition,
    AnyCondition,
    ChangeCondition,
    ChangeDirection,
    CompareCondition,
    ComparisonSign,
    NotCondition,
    RecordCondition,
    RowScope,
    SilenceCondition,
)
from tarantula.streams.alerts.condition_text import ConditionSyntaxError, format_rule, parse_rule

HOT = CompareCondition(field="temperature", sign=ComparisonSign.MORE, value="30")
WINDY = CompareCondition(field="wind", sign=ComparisonSign.MORE, value="50")


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("temperature > 30", HOT),
        ("  Temperature>30 ", HOT),
        ("temperature > 30 and not wind > 50", AllCondition(of=(HOT, NotCondition(of=WINDY)))),
        ("temperature > 30 or wind > 50 and temperature > 30", AnyCondition(of=(HOT, AllCondition(of=(WINDY, HOT))))),
        ("(temperature > 30 or wind > 50) and temperature > 30", AllCondition(of=(AnyCondition(of=(HOT, WINDY)), HOT))),
        ("not (temperature > 30 and wind > 50)", NotCondition(of=AllCondition(of=(HOT, WINDY)))),
        ("not temperature > 30 and wind > 50", AllCondition(of=(NotCondition(of=HOT), WINDY))),
        ("price ≠ 1.234,56 €", CompareCondition(field="price", sign=ComparisonSign.OTHER, value="1.234,56 €")),
        ("price != 3", CompareCondition(field="price", sign=ComparisonSign.OTHER, value="3")),
        ("price <> 3", CompareCondition(field="price", sign=ComparisonSign.OTHER, value="3")),
        ("price >= -3", CompareCondition(field="price", sign=ComparisonSign.AT_LEAST, value="-3")),
        ("price ≤ 3", CompareCondition(field="price", sign=ComparisonSign.AT_MOST, value="3")),
        ("price == 3", CompareCondition(field="price", sign=ComparisonSign.EQUAL, value="3")),
        ("state is open", CompareCondition(field="state", sign=ComparisonSign.EQUAL, value="open")),
        ("state is not open", CompareCondition(field="state", sign=ComparisonSign.OTHER, value="open")),
        (
            "starts > 12 June 2026 14:30",
            CompareCondition(field="starts", sign=ComparisonSign.MORE, value="12 June 2026 14:30"),
        ),
        (
            'title contains "war and peace"',
            CompareCondition(field="title", sign=ComparisonSign.CONTAINS, value="war and peace"),
        ),
        (
            "title contains “war (and) peace”",
            CompareCondition(field="title", sign=ComparisonSign.CONTAINS, value="war (and) peace"),
        ),
        ("title does not contain war", CompareCondition(field="title", sign=ComparisonSign.LACKS, value="war")),
        (
            r'title matches "^\\d+ \"x\"$"',
            CompareCondition(field="title", sign=ComparisonSign.MATCHES, value=r'^\d+ "x"$'),
        ),
        ("price changed", ChangeCondition(field="price")),
        ("price changed by 5% in 1h", ChangeCondition(field="price", percent="5", within=3600)),
        ("price rose by 2,50 %", ChangeCondition(field="price", way=ChangeDirection.UP, percent="2.5")),
        (
            "price fell by 5 € in 30 days",
            ChangeCondition(field="price", way=ChangeDirection.DOWN, amount="5 €", within=30 * 86400),
        ),
        ("points is record high", RecordCondition(field="points", high=True)),
        ("points is a record low in 1w", RecordCondition(field="points", high=False, within=604800)),
        ("silent for 2h", SilenceCondition(seconds=7200)),
        ("points silent for 1 hour 30 min", SilenceCondition(field="points", seconds=5400)),
        ('"silent" > 3', CompareCondition(field="silent", sign=ComparisonSign.MORE, value="3")),
        ("Preço > 3", CompareCondition(field="preco", sign=ComparisonSign.MORE, value="3")),
    ],
)
def test_a_condition_is_parsed_and_formatted_again(text: str, meaning: AlertCondition) -> None:
    assert parse_rule(text) == AlertRule(when=meaning)
    assert parse_rule(format_rule(AlertRule(when=meaning))) == AlertRule(when=meaning)


def test_rows_are_named_before_the_condition() -> None:
    assert parse_rule("any row: temperature > 30") == AlertRule(rows=RowScope.ANY, when=HOT)
    assert parse_rule("each row: temperature > 30") == AlertRule(when=HOT)
    assert parse_rule('row "S. L. Benfica": temperature > 30') == AlertRule(
        rows=RowScope.ONE, row="S. L. Benfica", when=HOT
    )
    assert format_rule(AlertRule(rows=RowScope.ONE, row='a"b', when=HOT)) == 'row "a\\"b": temperature > 30'


@pytest.mark.parametrize(
    ("text", "position", "sentence"),
    [
        ("", 0, "At the end of the condition: the name of a field was expected."),
        ("temperature", 11, "At the end of the condition: one of = ≠ < ≤ > ≥, contains, matches, changed, rose, "
         "fell, is or silent was expected."),
        ("temperature >", 13, "At the end of the condition: a value was expected."),
        ("temperature > and", 14, "At character 15, before 'and': a value was expected."),
        ("a > 1 and", 9, "At the end of the condition: the name of a field was expected."),
        ("a > 1 and or b > 2", 10, "At character 11, before 'or': the name of a field was expected."),
        ("(a > 1", 6, "At the end of the condition: a closing parenthesis was expected."),
        ("a > 1) and b > 2", 5, "At character 6, before ')': the end, or “and” or “or”, was expected."),
        ("a > 1 b > 2", 8, "At character 9, before '>': “and” or “or” was expected, or quotes around the value."),
        ('a = "open', 4, "At character 5, before '\"': quotes must enclose the whole value."),
        ("a ~ 3", 2, "At character 3, before '~': one of = ≠ < ≤ > ≥, contains, matches, changed, rose, fell, is "
         "or silent was expected."),
        ("silent for ever", 11, "At character 12, before 'ever': a time was expected, as in 2h, 30 minutes or 1d."),
        ("a silent 2h", 9, "At character 10, before '2h': a time was expected, as in “for 2h”."),
        ("a rose by -3%", 10, "At character 11, before '-3%': a number greater than zero was expected before the %."),
        ("a rose by 5% im 1h", 13, "At character 14, before 'im': the end, or “and” or “or”, was expected."),
        ("a rose by 5%x", 10, "At character 11, before '5%x': a number greater than zero was expected before the %."),
        ("a is record", 11, "At the end of the condition: “high” or “low” was expected."),
        ("any row a > 3", 8, "At character 9, before 'a': a colon was expected after the row."),
        ("__import__('os') = 1", 0, "At character 1, before '__import__': the name of a field was expected."),
        ("not " * 30 + "a > 1", 84, "At character 85, before 'not': parentheses are nested too deeply."),
        ("(" * 500 + "a > 1", 21, "At character 22, before '(': parentheses are nested too deeply."),
        (" or ".join(["a > 1"] * 80), 546, "At character 547, before 'or': the condition has too many parts."),
        ("a" * 2001, 2000, "The condition has 2001 characters, and the limit is 2000."),
    ],
)  # fmt: skip
def test_syntax_errors_have_a_position(text: str, position: int, sentence: str) -> None:
    with pytest.raises(ConditionSyntaxError) as refused:
        parse_rule(text)
    assert (str(refused.value), refused.value.position) == (sentence, position)


keys = st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True)
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=20)
seconds = st.integers(1, 36_500 * 86_400)
amounts = st.from_regex(r"[0-9]{1,5}( €| km/h|[,.][0-9]{1,3})?", fullmatch=True)
leaf_parts = st.one_of(
    st.builds(CompareCondition, field=keys, sign=st.sampled_from(ComparisonSign), value=texts),
    st.builds(
        ChangeCondition, field=keys, way=st.sampled_from(ChangeDirection), amount=amounts, within=st.none() | seconds
    ),
    st.builds(ChangeCondition, field=keys, way=st.sampled_from(ChangeDirection), percent=st.integers(1, 999).map(str)),
    st.builds(RecordCondition, field=keys, high=st.booleans(), within=st.none() | seconds),
    st.builds(SilenceCondition, field=st.none() | keys, seconds=seconds),
)
some_parts = st.recursive(
    leaf_parts,
    lambda part: st.one_of(
        st.builds(NotCondition, of=part),
        st.builds(AllCondition, of=st.lists(part, min_size=2, max_size=3).map(tuple)),
        st.builds(AnyCondition, of=st.lists(part, min_size=2, max_size=3).map(tuple)),
    ),
    max_leaves=6,
)
rules = st.one_of(
    st.builds(AlertRule, rows=st.sampled_from([RowScope.EACH, RowScope.ANY]), when=some_parts),
    st.builds(AlertRule, rows=st.just(RowScope.ONE), row=texts, when=some_parts),
)


@given(rules)
def test_every_condition_survives_formatting_and_parsing(rule: AlertRule) -> None:
    assert parse_rule(format_rule(rule)) == rule
    assert AlertRule.model_validate_json(rule.model_dump_json()) == rule


WORDS = 'a > 1 and or not ( ) silent for is record high : % in by " 2h'.split()


@given(st.text(max_size=60) | st.lists(st.sampled_from(WORDS)).map(" ".join))
def test_any_text_is_parsed_or_refused_with_a_sentence(text: str) -> None:
    rule, refused = tried(text)
    if rule is not None:
        assert parse_rule(format_rule(rule)) == rule
    else:
        assert refused is not None
        assert str(refused).endswith(".")
        assert 0 <= refused.position <= len(text)


def tried(text: str) -> tuple[AlertRule | None, ConditionSyntaxError | None]:
    try:
        return parse_rule(text), None
    except ConditionSyntaxError as error:
        return None, error


def test_hidden_nesting_is_refused() -> None:
    text = "a > 1"
    for _ in range(12):
        text = f"a > 1 or a > 2 and ({text})"
    with pytest.raises(ConditionSyntaxError, match="A condition has at most 60 parts, nested at most 20 deep"):
        parse_rule(text)


def test_trees_sent_as_json_have_limits_too() -> None:
    tree: dict[str, object] = {"kind": "silent", "seconds": 5}
    for _ in range(30):
        tree = {"kind": "not", "of": tree}
    with pytest.raises(ValidationError, match="A condition has at most 60 parts, nested at most 20 deep"):
        TypeAdapter(AlertRule).validate_python({"when": tree})
    wide = {"kind": "all", "of": [{"kind": "silent", "seconds": 5}] * 60}
    with pytest.raises(ValidationError, match="at most 60 parts"):
        TypeAdapter(AlertRule).validate_python({"when": wide})
