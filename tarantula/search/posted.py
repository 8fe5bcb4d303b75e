"""A wish that came by HTTP."""

from __future__ import annotations

from http import HTTPStatus

from pydantic import ValidationError

from tarantula.search.http_request import NoAnswer
from tarantula.search.results import Request
from tarantula.sentences import of_validation


def request_of(body: bytes) -> Request:
    """Return what is asked for, or say what is wrong with it."""
    try:
        return Request.model_validate_json(body)
    except ValidationError as error:
        sentences = of_validation(error, Request.model_fields)
        raise NoAnswer(HTTPStatus.BAD_REQUEST, " ".join(sentences)) from error
