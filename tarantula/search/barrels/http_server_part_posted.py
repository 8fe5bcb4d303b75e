"""A wish that came by HTTP."""

from __future__ import annotations

from http import HTTPStatus
from typing import TypeVar

from pydantic import ValidationError

from tarantula.core.messages import of_validation
from tarantula.search.barrels.http_server_part_http_request import NoAnswer
from tarantula.search.results import Prefix, Request

Wish = TypeVar("Wish", Request, Prefix)


def read_wish(kind: type[Wish], body: bytes) -> Wish:
    """Return what is asked for, or say what is wrong with it."""
    try:
        return kind.model_validate_json(body)
    except ValidationError as error:
        sentences = of_validation(error, kind.model_fields)
        raise NoAnswer(HTTPStatus.BAD_REQUEST, " ".join(sentences)) from error
