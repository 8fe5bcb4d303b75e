"""The page on reasons lists every code with its sentence, in the order of the code."""

from __future__ import annotations

import re

import pytest

from tarantula.core import reasons
from tests.support import documentation

FORMAT = re.compile(r"(\{\w+):[^}]*\}")


@pytest.mark.parametrize(
    ("heading", "templates"),
    [
        ("Reasons", {reasons.TEXT: reasons.REASON_TEMPLATES[reasons.TEXT]}),
        ("Scope", reasons.SCOPE_REASONS),
        ("Answers", reasons.ANSWER_REASONS),
        ("Failures", reasons.FAILURE_REASONS),
        ("Connections", reasons.EGRESS_REASONS),
        ("Items", reasons.ITEM_REASONS),
        ("Rules", reasons.INDICATOR_REASONS),
    ],
)
def test_every_code_is_listed_with_its_sentence(heading: str, templates: dict[str, str]) -> None:
    rows = documentation.rows(documentation.section(documentation.read("reasons.md"), heading))
    assert [tuple(row) for row in rows] == [
        (f"`{code}`", FORMAT.sub(r"\1}", template)) for code, template in templates.items()
    ]
