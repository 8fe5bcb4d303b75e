"""When an alert fires: tables of conditions, and any condition against a brute-force model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tarantula.streams.alerts.condition import (
    AlertCondition,
    AlertRule,
    AllCondition,
    AnyCondition,
    ChangeCondition,
    ChangeDirection,
    CompareCondition,
    NotCondition,
    RecordCondition,
    SilenceCondition,
    is_momentary,
    leaf_conditions,
)
from tarantula.streams.alerts.condition_text import parse_rule
from tarantula.streams.alerts.evaluate import MAX_TRAIL_VALUES, SeenValue, WatchMemory
from tarantula.streams.alerts.watch import AlertTerms, AlertWatch, WatchFiring
from tests.support.alert_reference import SIGNS, Model, Story

SECOND = 1_000_000
Value = int | float | str


def seen(value: Value) -> SeenValue:
    return SeenValue(str(value), None if isinstance(value, str) else Decimal(str(value)))


def literals(rule: AlertRule) -> dict[tuple[str, str], SeenValue]:
    """Return the literals of a rule, where numbers are plain."""
    found = dict[tuple[str, str], SeenValue]()
    for leaf in leaf_conditions(rule.when):
        for text in (getattr(leaf, "value", ""), f"by {getattr(leaf, 'amount', '')}"):
            try:
                found[str(leaf.field), text] = SeenValue(text, Decimal(text.removeprefix("by ")))
            except InvalidOperation:
                continue
    return found


def run(
    rule: AlertRule, story: Sequence[tuple[float, Mapping[Any, Value]]], end: float = 0, **terms: Any
) -> list[WatchFiring]:
    """Return the firings; the state goes through JSON after every step, as through the database."""
    parameters, memory, fired = AlertTerms(rule, literals(rule), **terms), WatchMemory(since=0), list[WatchFiring]()
    fired += AlertWatch(parameters, memory).start(0)
    for at, values in story:
        watch = AlertWatch(parameters, memory)
        placed = {key if isinstance(key, tuple) else ("", key): seen(value) for key, value in values.items()}
        fired += watch.judge_values(round(at * SECOND), placed)
        memory = WatchMemory.of_json(watch.memory.as_json())
    return fired + AlertWatch(parameters, memory).pass_time(round(end * SECOND))


def seconds(fired: Sequence[WatchFiring]) -> list[float]:
    return [one.at / SECOND for one in fired]


def series(*values: Value | None, key: str = "t") -> list[tuple[float, dict[str, Value]]]:
    """Return one value a second; no event where it is ``None``."""
    return [(at, {key: value}) for at, value in enumerate(values) if value is not None]


@pytest.mark.parametrize(
    ("condition", "values", "fires"),
    [
        ("t > 30", [29.4, 30.2, 31, 30, 31], [1, 4]),
        ("t > 30", [31, 32, 29, 31], [3]),
        ("t >= 30", [29, 30, 29, 31], [1, 3]),
        ("t < 30", [31, 29.9, 28, 30, 29], [1, 4]),
        ("t <= 30", [31, 30], [1]),
        ("t = 30", [29, 30.0, 30, 30.5, 30], [1, 4]),
        ("t != 30", [30, 31, 32, 30, 29], [1, 4]),
        ("t = open", ["shut", "Open", "shut", "OPEN"], [1, 3]),
        ("t != shut", ["shut", "open", "SHUT", "ajar"], [1, 3]),
        ("t contains acao", ["x", "AÇÃO!", "reacção", "nada", "uma acao"], [1, 4]),
        ("t does not contain war", ["war", "peace", "War", "love"], [1, 3]),
        (r'not t matches "^\\d+$"', ["12", "x", "13", "y"], [1, 3]),
        ('t matches "^x+$"', ["y", "xx", "y"], [1]),
        ("t changed", [1, 2, 3, 2], [1, 2, 3]),
        ("t changed", ["a", "b"], [1]),
        ("t rose", [1, 2, 1, 3], [1, 3]),
        ("t fell", [3, 2, 3, 1], [1, 3]),
        ("t changed by 5", [1, 6, 5, 0, -6], [1, 3, 4]),
        ("t rose by 5", [1, 6, 1, 7], [1, 3]),
        ("t changed by 10%", [100, 110, 100, 109, 90], [1, 4]),
        ("t fell by 50%", [0, -1, -1.4, -2.1, 1, 0.5], [1, 3, 5]),
        ("t changed by 10%", [0, 0.001], [1]),
        ("t changed by 5 in 2s", [1, 2, 3, 6, 8, 9, 9.5, 10, 11, 30], [4, 9]),
        ("t is record high", [5, 4, 5, 6, 6, 7], [3, 5]),
        ("t is record low", [5, 6, 4, 4, 3], [2, 4]),
        ("t is record high in 2s", [9, 1, 2, 3, 2, 3, 1], [3]),
        ("t is record high", ["a", "b"], []),
        ("t > 30", ["n/a", 31], [1]),
        ("t > 30", [20, "n/a", 31], [2]),
        ("not t > 30", [31, 20], [1]),
        ("t > 30 and u > 1", [29, 31], []),
        ("t > 30 or u > 1", [29, 31], [1]),
        ("not (t < 30 and u > 1)", [29, 31], [1]),
    ],
)
def test_conditions(condition: str, values: list[Value], fires: list[float]) -> None:
    assert seconds(run(parse_rule(condition), series(*values))) == fires


@pytest.mark.parametrize(
    ("condition", "story", "why"),
    [
        ("t > 30", series(29.4, 30.2), "t rose above 30: it was 29.4, it is 30.2."),
        ("t ≥ 30", series(29, 30), "t rose to 30 or more: it was 29, it is 30."),
        ("t < 30", series(31, 29), "t fell below 30: it was 31, it is 29."),
        ("not t > 30", series(31, 29), "t fell to 30 or less: it was 31, it is 29."),
        ("t = open", series("shut", "Open"), "t became “Open”: it was “shut”."),
        ("t ≠ open", series("open", "shut"), "t is no longer “open”: it is “shut”."),
        ("t contains x", series("y", "ax"), "t contains “x”: it is “ax”."),
        ("not t contains x", series("x", "y"), "t does not contain “x”: it is “y”."),
        ("t changed", series("x", "y"), "t changed: it was “x”, it is “y”."),
        ("t rose by 5%", series(100, 107.3), "t rose by 7.3 %: it was 100, it is 107.3."),
        ("t changed by 3", series(7, 4), "t fell by 3: it was 7, it is 4."),
        ("t rose by 2 in 10s", series(1, 2, 3), "t rose by 2 in 10s: it was 1, it is 3."),
        ("t is record high", series(3, 1, 4), "t is higher than ever: it is 4, and the highest before was 3."),
        ("t is record low in 1h", series(3, 1), "t is the lowest in 1h: it is 1, and was 3 at least."),
        (
            "t > 3 and not u > 5",
            [(0, {"t": 4, "u": 9}), (1, {"u": 5})],
            "t is above 3: it is 4.\nu fell to 5 or less: it was 9, it is 5.",
        ),
        ("t > 3 or u > 5", [(0, {"t": 1, "u": 1}), (1, {"u": 9})], "u rose above 5: it was 1, it is 9."),
        ("any row: t > 3", [(0, {("a", "t"): 1}), (1, {("a", "t"): 5})], "t (a) rose above 3: it was 1, it is 5."),
    ],
)
def test_reasons_contain_the_values(condition: str, story: list[tuple[float, Any]], why: str) -> None:
    assert [one.why for one in run(parse_rule(condition), story)] == [why]


def test_numbers_are_shown_with_their_unit() -> None:
    (fired,) = run(parse_rule("t > 30"), series(29.4, 30.2), units={"t": "°C"})
    assert fired.why == "t rose above 30 °C: it was 29.4 °C, it is 30.2 °C."


def test_it_may_fire_again_only_after_it_came_back_by_the_margin() -> None:
    above = parse_rule("t > 30")
    values = series(29, 31, 29.5, 31, 28.1, 31, 28, 31)
    assert seconds(run(above, values, margin=Decimal(2))) == [1, 7]
    below = parse_rule("not t > 30")
    assert seconds(run(below, series(31, 29, 31, 29, 33, 29), margin=Decimal(2))) == [1, 5]


def test_it_fires_when_it_was_true_for_long_enough_and_no_later() -> None:
    rule = parse_rule("t > 30")
    story: list[tuple[float, dict[str, Value]]] = [(0, {"t": 20}), (10, {"t": 31}), (14, {"t": 20}), (20, {"t": 32})]
    assert seconds(run(rule, story, end=100, hold=5 * SECOND)) == [25]
    # The result is the same whether the clock or the next event comes first.
    assert seconds(run(rule, [*story, (300, {"t": 10})], hold=5 * SECOND)) == [25]


def test_the_pause_between_firings_is_kept() -> None:
    story = series(1, 5, 1, 5, 1, 5)
    assert seconds(run(parse_rule("t > 3"), story, end=60, pause=10 * SECOND)) == [1, 11]
    # A change is over when the pause ends.
    assert seconds(run(parse_rule("t rose"), story, end=60, pause=3 * SECOND)) == [1, 5]


def test_unknown_values_are_not_false() -> None:
    story: list[tuple[float, dict[str, Value]]] = [(0, {"t": 1}), (1, {"t": 5}), (2, {"t": "n/a"}), (3, {"t": 5})]
    assert seconds(run(parse_rule("t > 3"), story)) == [1]


def test_first_values_fire_only_with_at_first() -> None:
    assert run(parse_rule("t > 3"), series(5)) == []
    assert seconds(run(parse_rule("t > 3"), series(5), at_first=True)) == [0]
    assert run(parse_rule("t changed or t is record high"), series(5), at_first=True) == []
    # Another first value makes it true: whether it was true before is unknown.
    assert run(parse_rule("t > 3 and u > 3"), [(0, {"t": 5}), (1, {"u": 5}), (2, {"t": 6})]) == []
    # It is true whatever the first value is.
    assert seconds(run(parse_rule("t > 3 or u > 3"), [(0, {"t": 1}), (1, {"t": 5, "u": 5})])) == [1]


def test_silence_fires_once_and_again_after_an_event() -> None:
    story: list[tuple[float, dict[str, Value]]] = [(1, {"t": 1}), (3, {"t": 2}), (20, {"t": 3})]
    fired = run(parse_rule("silent for 5s"), story, end=100)
    assert seconds(fired) == [8, 25]
    assert fired[0].why == "Nothing happened for 5s."
    both: list[tuple[float, dict[str, Value]]] = [(0, {"t": 1, "u": 1}), (4, {"u": 2}), (8, {"u": 3})]
    assert seconds(run(parse_rule("t silent for 5s"), both, end=9)) == [5]
    assert run(parse_rule("silent for 5s"), both, end=9) == []


def test_entries_of_a_feed_are_judged_one_by_one() -> None:
    rule = parse_rule("t contains x and u > 3")
    story: list[tuple[float, dict[str, Value]]] = [
        (0, {"t": "x", "u": 4}), (1, {"t": "ax", "u": 5}), (2, {"t": "bx", "u": 6}), (3, {"t": "x"}), (3.5, {"u": 9}),
    ]  # fmt: skip
    assert seconds(run(rule, story, each_event=True)) == [1, 2]


def test_the_state_stays_small_however_many_events_arrive() -> None:
    rule = parse_rule("t is record high in 1d or t is record low in 1d or t changed by 1000000 in 1d")
    watch = AlertWatch(AlertTerms(rule, literals(rule)), WatchMemory(since=0))
    for second in range(4 * MAX_TRAIL_VALUES):
        watch.judge_values(second * SECOND, {("", "t"): seen(-second if second % 2 else second)})
    followed = watch.memory.rows[""]["t"]
    assert max(len(followed.past), len(followed.highs), len(followed.lows)) <= MAX_TRAIL_VALUES
    (last,) = watch.judge_values(9000 * SECOND, {("", "t"): seen(2001)})
    assert last.why == "t is the highest in 1d: it is 2001, and was 1998 at most."


def test_a_regular_expression_that_times_out_is_unknown() -> None:
    rule = parse_rule('not t matches "^(a|aa)+$"')
    assert run(rule, series("a", "a" * 60 + "b")) == []


fields = st.sampled_from(["a", "b"])
numbers = st.integers(0, 6)
times = st.integers(1, 6)
compared = st.builds(CompareCondition, field=fields, sign=st.sampled_from(SIGNS), value=numbers.map(str))
lasting = compared | st.builds(SilenceCondition, field=st.none() | fields, seconds=times)
momentary = st.one_of(
    st.builds(ChangeCondition, field=fields, way=st.sampled_from(ChangeDirection), amount=st.sampled_from(["", "2"])),
    st.builds(
        ChangeCondition, field=fields, way=st.sampled_from(ChangeDirection), percent=st.sampled_from(["50", "100"])
    ),
    st.builds(RecordCondition, field=fields, high=st.booleans(), within=st.none() | times),
)
windowed = st.builds(
    ChangeCondition, field=fields, way=st.sampled_from(ChangeDirection), amount=st.just("2"), within=times
)


def joined(part: st.SearchStrategy[AlertCondition]) -> st.SearchStrategy[AlertCondition]:
    several = st.lists(part, min_size=2, max_size=3).map(tuple)
    return st.one_of(
        st.builds(NotCondition, of=part), st.builds(AllCondition, of=several), st.builds(AnyCondition, of=several)
    )


def any_of(leaf: st.SearchStrategy[Any]) -> st.SearchStrategy[AlertCondition]:
    return st.recursive(leaf, joined, max_leaves=5)


stories = st.lists(
    st.tuples(st.integers(1, 5), st.dictionaries(fields, numbers, min_size=1)), min_size=2, max_size=14
).map(lambda steps: [(sum(gap for gap, _ in steps[: index + 1]), values) for index, (_, values) in enumerate(steps)])


def held_against_the_model(condition: AlertCondition, story: Story, end: int, **terms: Any) -> None:
    model = Model(condition, **terms)
    scaled = {name: value * SECOND if name in ("hold", "pause") else value for name, value in terms.items()}
    if "margin" in scaled:
        scaled["margin"] = Decimal(scaled["margin"])
    fired = run(AlertRule(when=condition), [(at, dict(values)) for at, values in story], end, **scaled)
    assert seconds(fired) == list(model.fires(story, end))
    assert all(one.why for one in fired)


@settings(max_examples=150)
@given(any_of(lasting), stories, st.integers(0, 2), st.integers(0, 5), st.integers(0, 8), st.booleans())
def test_lasting_conditions_agree_with_the_model(
    condition: AlertCondition, story: Story, margin: int, hold: int, pause: int, at_first: bool
) -> None:
    terms = {"margin": margin, "hold": hold, "pause": pause, "at_first": at_first}
    held_against_the_model(condition, story, story[-1][0] + 20, **terms)


@settings(max_examples=150)
@given(any_of(compared | momentary), stories, st.integers(0, 2), st.integers(0, 8), st.booleans())
def test_changes_and_records_agree_with_the_model(
    condition: AlertCondition, story: Story, margin: int, pause: int, at_first: bool
) -> None:
    held_against_the_model(condition, story, story[-1][0] + 20, margin=margin, pause=pause, at_first=at_first)


@given(windowed, stories)
def test_changes_within_a_window_agree_with_the_model(condition: AlertCondition, story: Story) -> None:
    """The model evaluates every second; changes caused by time alone are not reported, so it is compared at events
    only.
    """
    model, fires = Model(condition), list[float]()
    for at, values in story:
        if model.truth(condition, True, at, frozenset(), frozenset()) is False:
            model.armed = True
        first = frozenset(key for key in values if key not in model.came)
        for key, value in values.items():
            model.came.setdefault(key, []).append((at, value))
        if model.judged(at, frozenset(values), first):
            fires.append(at)
    assert seconds(run(AlertRule(when=condition), [(at, dict(values)) for at, values in story])) == fires
    assert not is_momentary(condition)
