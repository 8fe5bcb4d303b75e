"""For those who watch machines: is it well, and how much of everything."""

from __future__ import annotations

import os
from typing import Literal

from fastapi import APIRouter, Request
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic import BaseModel
from sqlalchemy import text
from starlette.responses import Response

from tarantula.core.errors import TarantulaError
from tarantula.web.api.common import API_DEPENDENCIES, ERROR_RESPONSES, RequestContext
from tarantula.web.api.monitoring import metrics_text
from tarantula.web.auth_part_gate import Authenticator

router = APIRouter(tags=["watching"])


class Health(BaseModel):
    """Whether work can be done."""

    status: Literal["well", "unwell"]
    database: bool
    """Whether it answers."""
    home: bool
    """Whether it can be written."""


@router.get("/health", summary="Whether it is well", responses={503: {"model": Health}})
def health(request: Request, response: Response) -> Health:
    """Say whether the database answers and the home can be written. Anybody may ask."""
    gate: Authenticator = request.state.gate
    database, home = _answers(gate), os.access(gate.installation.home, os.W_OK)
    is_well = database and home
    response.status_code = 200 if is_well else 503
    return Health(status="well" if is_well else "unwell", database=database, home=home)


@router.get("/metrics", summary="Figures for Prometheus", dependencies=API_DEPENDENCIES, response_class=Response,
            responses={**ERROR_RESPONSES, 200: {"content": {"text/plain": {"schema": {"type": "string"}}}}})  # fmt: skip
def metrics(desk: RequestContext) -> Response:
    """Return every figure in the text format of Prometheus. For readers."""
    return Response(metrics_text(desk), media_type=CONTENT_TYPE_LATEST)


def _answers(gate: Authenticator) -> bool:
    try:
        with gate.database.reading() as session:
            return bool(session.scalar(text("SELECT 1")))
    except TarantulaError:
        return False
