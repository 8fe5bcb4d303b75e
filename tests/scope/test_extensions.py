"""Scope rules and header checks that are added by import path."""

from __future__ import annotations

from typing import Any

import pytest

from tarantula.core.errors import TarantulaError
from tarantula.core.reasons import as_reason
from tarantula.core.states import DocumentState
from tarantula.fetch.exchange import ResponseHead
from tarantula.publications.config import PublicationConfig
from tarantula.scope.rule import Candidate, CandidateResponse, Verdict, refuse
from tarantula.scope.scope import Scope
from tarantula.scope.types import TypeSet

URL = "http://www.fc.ul.pt/print/1"


class PrintPage:
    """Refuse print versions of pages."""

    def __init__(self, config: PublicationConfig) -> None:
        self._publication = config.name

    def judge(self, candidate: Candidate) -> Verdict | None:
        if "/print/" not in candidate.url:
            return None
        return refuse(self, DocumentState.OVER_LIMIT, f"{self._publication} has no print pages.")


class NoIndex:
    """Refuse documents with ``X-Robots-Tag: noindex``."""

    def __init__(self, config: PublicationConfig) -> None:
        self._publication = config.name

    def judge(self, response: CandidateResponse) -> Verdict | None:
        if response.head.get(b"x-robots-tag") != "noindex" or response.head.status != 200:
            return None
        return refuse(self, DocumentState.EXCLUDED_BY_ROBOTS, "It has X-Robots-Tag: noindex.")


class Broken:
    def judge(self, candidate: Candidate) -> Verdict | None:
        raise AssertionError


class TooDeep(PrintPage):
    pass


def config(**settings: Any) -> PublicationConfig:
    return PublicationConfig(name="fcul", base_url="http://www.fc.ul.pt/", settings=settings)


def scope(config: PublicationConfig, rules: list[str] | None = None, checks: list[str] | None = None) -> Scope:
    return Scope.of(config, {}, TypeSet(["*/*"]), rules or (), checks or ())


@pytest.mark.parametrize(
    "scope",
    [
        scope(config(), rules=[f"{__name__}.PrintPage"]),
        scope(config(TARANTULA_SCOPE_RULES=[f"{__name__}.PrintPage"])),
        scope(config(TARANTULA_SCOPE_RULES=f"{__name__}.PrintPage"), rules=[f"{__name__}.PrintPage"]),
    ],
    ids=["installation", "publication", "both"],
)
def test_a_rule_is_added_by_its_import_path(scope: Scope) -> None:
    assert scope.judge(Candidate.of(URL, 1)) == Verdict(
        False, "PrintPage", DocumentState.OVER_LIMIT, as_reason("fcul has no print pages.")
    )
    assert scope.judge(Candidate.of("http://www.fc.ul.pt/1", 1)).accepted
    assert scope.explain(URL).rule == "PrintPage"


def test_a_header_check_gets_the_status_and_all_headers() -> None:
    checked = scope(config(TARANTULA_HEADER_CHECKS=[f"{__name__}.NoIndex"]))
    headers = [(b"Content-Type", b"text/html"), (b"X-Robots-Tag", b"noindex")]
    assert checked.judge_head(ResponseHead(URL, 200, headers)).rule == "NoIndex"
    assert checked.judge_body(ResponseHead(URL, 200, headers), "text/html", 10).rule == "NoIndex"
    assert checked.judge_head(ResponseHead(URL, 404, headers)).accepted
    assert checked.judge_head(ResponseHead(URL, 200, headers[:1])).accepted


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("nowhere.at.All", "There is no scope rule nowhere.at.All"),
        (f"{__name__}.URL", "has no method judge"),
        (f"{__name__}.Broken", "cannot be created (TypeError"),
        (f"{__name__}.TooDeep", "has the name of another rule"),
    ],
)
def test_an_unusable_rule_is_named(path: str, message: str) -> None:
    with pytest.raises(TarantulaError) as failure:
        scope(config(), rules=[path])
    assert message in str(failure.value)
    assert path in str(failure.value)
