"""The API page lists every route with its role, and every metric."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from fastapi import FastAPI

from tarantula.accounts.roles import Person, Role
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.services.context import ServiceContext
from tarantula.web import api, live
from tarantula.web.api import monitoring
from tarantula.web.api.monitoring import metrics_text
from tests.support import documentation

ROUTES = documentation.rows(documentation.section(documentation.read("api.md"), "What there is"))


@cache
def operations() -> dict[str, dict[str, Any]]:
    """Return all routes by method and path."""
    app = FastAPI()
    for router in (monitoring.router, live.router, api.router):
        app.include_router(router)
    paths = app.openapi()["paths"]
    return {f"{method.upper()} {path}": one for path, methods in paths.items() for method, one in methods.items()}


def test_every_route_is_listed_and_no_other() -> None:
    assert sorted(row[0].strip("`") for row in ROUTES) == sorted(operations())


@pytest.mark.parametrize("row", ROUTES, ids=lambda row: row[0])
def test_a_route_has_a_summary_and_a_role(row: list[str]) -> None:
    one = operations()[row[0].strip("`")]
    assert one["summary"]
    assert one["tags"]
    for role in (Role.CURATOR, Role.ADMINISTRATOR):
        assert (row[2] == role) == (f"For {role}s" in one["description"])


def test_every_figure_is_listed(sqlite: Database, config: Config) -> None:
    listed = set(documentation.first_column(documentation.section(documentation.read("api.md"), "Figures")))
    text = metrics_text(ServiceContext(config, sqlite, Person("ana", Role.READER))).decode()
    named = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE tarantula_")}
    assert {name for name in named if not name.endswith("_created")} == listed
