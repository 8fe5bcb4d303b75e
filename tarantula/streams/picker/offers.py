"""Offers for documents that are not HTML pages: choose an adapter for a response, and list what can be followed."""

from __future__ import annotations

from tarantula.core.errors import TarantulaError
from tarantula.fetch.media_types import media_type
from tarantula.streams.adapters import adapter_named, adapter_names
from tarantula.streams.adapters.base import SourceResponse, UnreadableResponse
from tarantula.streams.limited import offers_in, title_in
from tarantula.streams.suggestions import DocumentOffer


def adapter_for_response(response: SourceResponse) -> str:
    """Return the name of the adapter that suits the response best; empty if none does."""
    name = max(adapter_names(), key=lambda one: adapter_named(one).suitability(response))
    return name if adapter_named(name).suitability(response) else ""


def is_page(response: SourceResponse) -> bool:
    """Whether elements of the response can be picked."""
    name = adapter_for_response(response)
    return bool(name) and adapter_named(name).has_elements


def offers_of(response: SourceResponse) -> list[DocumentOffer]:
    """Return the offers of a document that is not an HTML page; raise `TarantulaError` if there are none."""
    name = adapter_for_response(response)
    if not name:
        kind = media_type(response.content_type)
        raise TarantulaError("This is {kind}, which no adapter reads. Use another address.", kind=kind)
    try:
        offers = offers_in(response, name)
    except UnreadableResponse as error:
        raise TarantulaError(str(error)) from error
    if not offers:
        raise TarantulaError("This document contains no value to follow.")
    return offers


def document_title(response: SourceResponse) -> str:
    """Return the title of a document that is not an HTML page, if it has one."""
    name = adapter_for_response(response)
    try:
        return title_in(response, name)[:200] if name else ""
    except UnreadableResponse:
        return ""
