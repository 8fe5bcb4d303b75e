"""The page on sources lists every adapter and category with their options, and its examples work."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise

import pytest
from pydantic import BaseModel

from tarantula.streams.adapters import ADAPTERS, adapter_named
from tarantula.streams.categories import Category, FormQuestion, categories
from tarantula.streams.sources.config import SourceConfig, SourceField, parse_source
from tests.streams.test_relocate import PAIRS, outcome_of
from tests.support import documentation

TEXT = documentation.read("stream-sources.md")


def listed(heading: str) -> list[str]:
    return documentation.first_column(documentation.section(TEXT, heading))


def names(*models: type[BaseModel]) -> list[str]:
    return [name for model in models for name in model.model_fields]


def test_every_field_of_a_source_is_listed() -> None:
    assert listed("What a source says") == names(SourceConfig, SourceField)


@pytest.mark.parametrize("name", ADAPTERS)
def test_every_adapter_is_listed_with_its_options_and_places(name: str) -> None:
    adapter = adapter_named(name)
    assert listed(f"`{name}`") == names(adapter.Options, adapter.Place)


def test_the_examples_of_every_adapter_can_be_used() -> None:
    examples = [parse_source(json.loads(block)) for block in documentation.blocks(TEXT, "json")]
    assert {example.adapter for example in examples} == ADAPTERS.keys()


def test_every_listed_adapter_exists() -> None:
    headings = documentation.headings(TEXT)
    (begin,), (end,) = ([n for n, one in enumerate(headings) if one == title] for title in ("Adapters", "Found again"))
    assert [heading.strip("`") for heading in headings[begin + 1 : end]] == list(ADAPTERS)


def test_every_category_is_listed_with_its_questions() -> None:
    rows = documentation.rows(documentation.section(TEXT, "Categories"))
    known = categories()
    of_categories = [row for row in rows if len(row) == 3]
    assert [row[0].strip("`") for row in of_categories] == list(known)
    for name, _, asked in of_categories:
        assert documentation.spans(asked) == [question.key for question in known[name.strip("`")].form]
    assert [row[0].strip("`") for row in rows if len(row) == 2] == names(Category, FormQuestion)


def test_the_counts_of_pairs_are_true() -> None:
    counts = Counter(outcome_of(pair)[0] for pair in PAIRS)
    again, aside, gone = counts["found"], counts["aside"], counts["gone"]
    sentence = f"{len(PAIRS)} pairs of before and after: {again} values are found again, {aside} put aside, and of "
    sentence += f"{gone} that are gone nothing is read."
    assert sentence in " ".join(TEXT.split())


def test_adapters_stand_in_the_order_of_the_code() -> None:
    positions = [TEXT.index(f"### `{name}`") for name in ADAPTERS]
    assert all(first < second for first, second in pairwise(positions))
