"""The HTTP request of a source: method, headers and body, variables in braces, and which variables are secret."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, quote, quote_plus
from xml.sax.saxutils import escape

from tarantula.core.errors import TarantulaError
from tarantula.core.messages import Message
from tarantula.core.secrets import MASK, check_readable, is_sealed, mask

VARIABLE = re.compile(r"\{([a-z][a-z0-9_]*)\}")
SECRET_PLACEHOLDER = MASK
_SECRET_VARIABLE = re.compile(r"pass|senha|palavra|secret|segredo|token|(?:^|_)pin$|(?:^|_)key$|apikey", re.IGNORECASE)
_SECRET_HEADER = re.compile(r"auth|cookie|secret|token|pass|session|(?:^|-)key(?:$|-)|apikey", re.IGNORECASE)
_SECRET_BODY_FIELD = re.compile(
    r"(?:.*[_-])?(?:pass|passwd|passphrase|pwd|pin)|.*(?:password|senha|palavra_passe|secret|segredo|api[_-]?key|token)",
    re.IGNORECASE,
)
MOST_HEADERS = 20
LONGEST_HEADER = 4_000
LONGEST_BODY = 20_000
RESERVED_HEADERS = frozenset(
    "accept-encoding connection content-encoding content-length expect from host if-match if-modified-since "
    "if-none-match if-range if-unmodified-since keep-alive proxy-authorization range te trailer transfer-encoding "
    "upgrade user-agent".split()
)
"""Headers about Tarântula or the connection, which a source cannot set."""
JSON, FORM, XML = "application/json", "application/x-www-form-urlencoded", "text/xml; charset=utf-8"
METHOD_KEEPING_REDIRECTS = frozenset({307, 308})
"""Redirect statuses that keep the method and body: RFC 9110, 15.4."""
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_PRINTABLE = "".join(map(chr, range(0x21, 0x7F)))
_NAMED_VALUES = {
    "json": re.compile(r'"([^"\\]*)"\s*:\s*"((?:[^"\\]|\\.)*)"'),
    "xml": re.compile(r"<(?:[\w.-]+:)?([\w.-]+)[^<>]*>([^<]+)</"),
}
_ESCAPES: dict[str, Callable[[str], str]] = {
    "json": lambda value: json.dumps(value)[1:-1],
    "xml": lambda value: escape(value, {'"': "&quot;", "'": "&apos;"}),
    "form": quote_plus,
}


def cross_origin_message(server: str) -> Message:
    """Return why a redirect to another server was not followed."""
    return Message(
        "It was redirected to {server}, but headers and body are sent only to the source's own server. "
        "Use the new address.",
        server=server,
    )


def fill_variables(template: str, variables: Mapping[str, str], escape_value: Callable[[str], str] = str) -> str:
    """Replace variables in braces by their values; raise `TarantulaError` for a variable without a value.

    *escape_value* writes a value for the format of the text.
    """

    check_readable(template)

    def value(found: re.Match[str]) -> str:
        if found[1] not in variables:
            raise TarantulaError("The variable {found} has no value. Give it one.", found=found[1])
        check_readable(variables[found[1]])
        return escape_value(variables[found[1]])

    return VARIABLE.sub(value, template)


def is_secret(variable: str) -> bool:
    """Whether a variable is secret, by its name."""
    return _SECRET_VARIABLE.search(variable) is not None


def is_secret_header(name: str) -> bool:
    """Whether a header is secret, by its name."""
    return _SECRET_HEADER.search(name) is not None


def is_secret_body_field(name: str) -> bool:
    """Whether a field of a body is secret, by its name."""
    return _SECRET_BODY_FIELD.fullmatch(name) is not None


def has_secret_variable(template: str) -> bool:
    """Whether a text contains a secret variable in place of the secret itself."""
    return any(map(is_secret, VARIABLE.findall(template)))


def mask_secrets(variables: Mapping[str, str]) -> dict[str, str]:
    """Return variables with the values of secret ones masked."""
    return {
        name: SECRET_PLACEHOLDER if (is_secret(name) and value) or is_sealed(value) else value
        for name, value in variables.items()
    }


def without_secrets(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a source with secret variables and notification addresses masked."""
    masked = {"variables": mask_secrets(values.get("variables") or {}), "notify": [*map(mask, values["notify"])]}
    return {**values, **masked}


def redact_secrets(text: str, variables: Mapping[str, str]) -> str:
    """Return a text with the values of secret variables masked; a message stays one."""
    plain = _redacted(text, variables)
    if isinstance(text, Message):
        values = {
            name: redact_secrets(value, variables) if isinstance(value, str) else value
            for name, value in text.parameters.items()
        }
        message = Message(_redacted(text.template, variables), **values)
        return message if message == plain else plain
    return plain


def _redacted(text: str, variables: Mapping[str, str]) -> str:
    for name, value in variables.items():
        if is_secret(name) and value:
            for encoded in (value, quote(value, safe=""), quote(value), quote_plus(value)):
                text = text.replace(encoded, SECRET_PLACEHOLDER)
    return text


class RequestMethod(StrEnum):
    """HTTP method of a source."""

    GET = "GET"
    POST = "POST"


class SourceRequest(NamedTuple):
    """Method, headers and body of a request, with variables filled in."""

    method: str = RequestMethod.GET
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""

    @property
    def fields(self) -> dict[str, bytes]:
        """Headers encoded as Latin-1: RFC 9110, 5.5."""
        return {name: value.encode("latin-1", "replace") for name, value in self.headers}

    def after_redirect(self, status: int, is_own: bool) -> SourceRequest | None:
        """Return the request for a redirect target, or ``None`` if it must not be sent there.

        Headers and body go only to the source's own origin. As in browsers, POST becomes GET unless the redirect
        keeps the method.
        """
        if self.method == RequestMethod.GET or status not in METHOD_KEEPING_REDIRECTS:
            headers = tuple((name, value) for name, value in self.headers if name.lower() != "content-type")
            return SourceRequest(headers=headers if is_own else ())
        return self if is_own else None


PLAIN_GET = SourceRequest()
"""Request without headers and body."""


def build_request(method: str, headers: Mapping[str, str], body: str, variables: Mapping[str, str]) -> SourceRequest:
    """Return the request with variables filled in."""
    filled = {name: fill_variables(value, variables).strip() for name, value in headers.items()}
    if method == RequestMethod.GET:
        return SourceRequest(headers=tuple(filled.items()))
    if body and not any(name.lower() == "content-type" for name in filled):
        filled["Content-Type"] = _content_type(body)
    return SourceRequest(method, tuple(filled.items()), _fill_body(headers, body, variables).encode())


def check_method(value: object) -> object:
    """Return the method in upper case; raise `ValueError` if it is not GET or POST."""
    method = str(value).strip().upper()
    if method not in RequestMethod.__members__:
        raise ValueError(Message("{value!r} is not a supported method. Choose GET or POST.", value=str(value)[:40]))
    return method


def check_headers(headers: Mapping[str, str], variables: Mapping[str, str]) -> None:
    """Raise `ValueError` for headers that are invalid, reserved, or that contain a secret in clear text."""
    if len(headers) > MOST_HEADERS:
        raise ValueError(Message("A source has at most {limit} headers.", limit=MOST_HEADERS))
    if len({name.lower() for name in headers}) < len(headers):
        raise ValueError(Message("Two headers have the same name. Remove one of them."))
    for name, template in headers.items():
        if not _TOKEN.fullmatch(name) or len(name) > 100:
            raise ValueError(Message("{name!r} is not a valid header name. Example: X-API-Key.", name=name[:40]))
        if name.lower() in RESERVED_HEADERS:
            raise ValueError(Message("The header {name} is set by Tarântula. Remove it.", name=name))
        if is_secret_header(name) and not has_secret_variable(template):
            raise ValueError(
                Message(
                    "The header {name} is a secret. Write {{token}} in its place, and set the variable token.",
                    name=name,
                )
            )
        value = _filled_header(template, variables)
        if not value.isprintable() or len(value) > LONGEST_HEADER or not _is_latin(value):
            raise ValueError(
                Message(
                    "The value of the header {name} is too long, or contains characters that headers cannot have.",
                    name=name,
                )
            )


def check_filled_text(selector: str, template: str) -> None:
    """Raise `ValueError` for a text that a browser types into a field of a password, if it is written in clear."""
    if template and _SECRET_VARIABLE.search(selector) and not has_secret_variable(template):
        raise ValueError(
            Message(
                "The text for {selector} is a secret. Write {{password}} in its place, and set the variable password.",
                selector=selector[:80],
            )
        )


def check_body(method: str, headers: Mapping[str, str], body: str, variables: Mapping[str, str]) -> None:
    """Raise `ValueError` for a body that is too long, malformed, or that contains a secret in clear text."""
    if not body:
        return
    if method == RequestMethod.GET:
        raise ValueError(Message("A body can only be sent with POST. Choose POST, or remove the body."))
    if len(body) > LONGEST_BODY:
        raise ValueError(Message("The body can have at most {limit:,} characters.", limit=LONGEST_BODY))
    try:
        filled_body = _fill_body(headers, body, variables)
    except TarantulaError as error:
        raise ValueError(
            Message("{error} Put a space after braces that are not a variable: {{ like this }}.", error=error)
        ) from None
    kind = _body_format(headers, body)
    if kind == "json":
        _check_json(filled_body)
    for name, value in _named_values(kind, body):
        if value and is_secret_body_field(name) and not has_secret_variable(value):
            raise ValueError(
                Message(
                    "The {name} in it is a secret. Write {{token}} in its place, and set the variable token.", name=name
                )
            )


def _check_json(text: str) -> None:
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        # The error text could quote a secret: report only its position.
        line, column = error.lineno, error.colno
        raise ValueError(
            Message(
                "The body is not valid JSON (line {line}, character {column}). Names need double quotes.",
                line=line,
                column=column,
            )
        ) from None
    except RecursionError:
        raise ValueError(Message("The body is nested too deeply.")) from None


def _filled_header(template: str, variables: Mapping[str, str]) -> str:
    try:
        return fill_variables(template, variables)
    except TarantulaError as error:
        raise ValueError(str(error)) from None


def _is_latin(value: str) -> bool:
    return all(ord(letter) < 256 for letter in value)


def _content_type(body: str) -> str:
    return {"{": JSON, "[": JSON, "<": XML}.get(body.lstrip()[:1], FORM)


def _body_format(headers: Mapping[str, str], body: str) -> str:
    """Return the format of a body: json, xml, form, or empty; by its header or by its first character."""
    content_type = next(
        (value for name, value in headers.items() if name.lower() == "content-type"), _content_type(body)
    ).lower()
    if "form-urlencoded" in content_type:
        return "form"
    return next((kind for kind in ("json", "xml") if kind in content_type), "")


def _fill_body(headers: Mapping[str, str], body: str, variables: Mapping[str, str]) -> str:
    kind = _body_format(headers, body)
    filled_body = fill_variables(body, variables, _ESCAPES.get(kind, str))
    return quote(filled_body.strip(), safe=_PRINTABLE) if kind == "form" else filled_body


def _named_values(kind: str, body: str) -> Iterator[tuple[str, str]]:
    """Yield names and values in a body template; it may not be valid JSON before variables are filled in."""
    if kind == "form":
        yield from parse_qsl(body)
    elif kind in _NAMED_VALUES:
        yield from _NAMED_VALUES[kind].findall(body)
