"""A wish that came by HTTP."""

from __future__ import annotations

from http import HTTPStatus
from typing import TypeVar

from pydantic import ValidationError

from tarantula.core.messages import validation_messages
from tarantula.search.barrels.http_server_part_http_request import HttpError
from tarantula.search.results import CompletionRequest, SearchRequest

Wish = TypeVar("Wish", SearchRequest, CompletionRequest)


def parse_body(kind: type[Wish], body: bytes) -> Wish:
    """Return what is asked for, or say what is wrong with it."""
    try:
        return kind.model_validate_json(body)
    except ValidationError as error:
        sentences = validation_messages(error, kind.model_fields)
        raise HttpError(HTTPStatus.BAD_REQUEST, " ".join(sentences)) from error
