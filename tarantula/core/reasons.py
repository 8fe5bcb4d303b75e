"""Reasons as data: a code with parameters, stored in rows. The sentence is made when a reason is shown.

Programs branch on codes only. ``REASON_TEMPLATES[reason.code]`` is the English template, and ``reason.sentence()`` the
`Message` made of it. A parameter may itself be a reason, and a reason may have notes, which are reasons too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Self

from tarantula.core.messages import Message, join_messages

TEXT = "text"
"""Code of a reason that is only a sentence, in the parameter `text`: of an extension, or of an earlier version."""
MESSAGE = "message"
"""Code of a reason that is a message of the program, with its English template and parameters."""
TEMPLATE = "template"
"""Parameter with the template of a code that is not in `REASON_TEMPLATES`: of an extension, or of a message."""
NOTES = "notes"
"""Parameter with the list of notes."""
UNSHOWN = frozenset({NOTES, TEMPLATE})
MAX_CODE_LENGTH = 60
_CODE = re.compile(r"[a-z][a-z0-9_]*")


class ItemReason(StrEnum):
    """Why an item was interrupted."""

    STOPPED = "stopped"
    DEADLINE = "deadline"
    CRASHED = "crashed"
    ENDED_EARLY = "ended_early"
    NOT_STARTED = "not_started"
    SPIDER_CLOSED = "spider_closed"
    BASE_MISSING = "base_missing"
    ERROR = "error"


EXPECTED_INTERRUPTIONS = frozenset({ItemReason.STOPPED, ItemReason.DEADLINE})
"""Interruptions that need no attention."""

ITEM_REASONS: dict[str, str] = {
    ItemReason.STOPPED: "It was stopped by a user.",
    ItemReason.DEADLINE: "It reached its maximum duration.",
    ItemReason.CRASHED: "Its processes crashed {crashes} times; see {log}.",
    ItemReason.ENDED_EARLY: "Its collector ended before all documents were collected.",
    ItemReason.NOT_STARTED: "Its collector could not be started; see the log.",
    ItemReason.SPIDER_CLOSED: "The spider was closed: {close_reason}.",
    ItemReason.BASE_MISSING: "Its base document {url} was not collected: {reason}",
    ItemReason.ERROR: "{error}",
}
"""Why an item was interrupted."""

SCOPE_REASONS: dict[str, str] = {
    "no_rule_refuses": "No rule refuses it.",
    "base_server": "{server} is the base server of {publication}.",
    "server_accepted": "The server {server} is accepted in {publication} by the pattern {pattern}.",
    "server_excluded": "The server {server} is excluded from {publication} by the pattern {pattern}.",
    "server_excluded_by_settings": "The server {server} is excluded by its own settings.",
    "server_not_accepted": "The server {server} is not among the accepted servers of {publication}.",
    "scheme_not_web": "Only http and https are collected, and this is {scheme}.",
    "url_invalid": "It is not a valid URL.",
    "url_too_long": "The URL has {length:,} characters, and {limit:,} is the limit.",
    "host_too_long": "The URL's host has {length:,} letters, and {limit} is the limit.",
    "url_not_escaped": "The URL has unescaped spaces, control characters or letters.",
    "url_with_user": "The URL has a user name, and the collector does not log in.",
    "path_too_long": "Its path has {segments} segments, and {limit} is the limit.",
    "path_repeats": "Its path repeats {repeated} too often.",
    "too_deep": "Its link depth is {depth}, and the publication {publication} has a maximum depth of {limit}.",
    "too_deep_requisite": "Its link depth is {depth}, and the publication {publication} has a maximum depth of "
    "{limit}, plus {extra} for page requisites.",
    "too_deep_on_server": "Its link depth is {depth}, and the server {server} has a maximum depth of {limit}.",
    "too_many_redirects": "{redirects} redirects in a row lead here, and {limit} is the limit.",
    "server_budget": "The server {server} has a maximum of {limit:,} documents, and all of them were requested.",
    "same_body": "More than {limit} URLs of its server have the same body as the page that links to it.",
    "ever_longer": "{steps} URLs in a row only extend the previous one, and {limit} is the limit.",
    "calendar_steps": "It is {steps} steps from date to date away, and {limit} is the limit.",
    "calendar_year": "It is a calendar's page for {year}, and {limit} is the limit.",
    "too_many_sessions": "It differs from {limit} other URLs only in its session id, and {limit} is the limit.",
    "type_of_extension": "The extension .{extension} says that it is {type}, which {publication} does not want.",
    "type_not_wanted": "Its type is {type}, which {publication} does not want.",
    "type_unknown": "Neither the Content-Type header nor the extension nor the content shows its type.",
    "too_large": "It has {size:,} bytes, and {publication} takes at most {limit:,}.",
    "robots_excluded": "{robots} excludes it.",
    "robots_error": "{robots} returned {status}; everything on that server is excluded until it can be read.",
    "robots_failed": "{robots} returned {status}.",
    "robots_unreached": "{robots} could not be fetched: {reason}",
}
"""Why a rule accepts or refuses a document."""

ANSWER_REASONS: dict[str, str] = {
    "answered": "The server answered {answer}.",
    "redirected": "The server answered {answer}: it redirects to {target}.",
    "redirected_to_itself": "The server answered {answer}: it redirects to itself.",
    "redirected_unreadably": "The server answered {answer}: it redirects to an address that cannot be read.",
    "redirected_nowhere": "The server answered {answer}, without saying where to.",
    "not_modified": "Not modified since {collected_at} UTC, when {urn} collected it.",
    "to_be_retried": "To be tried again: {reason}",
    "earlier_capture_kept": "The visit failed, and the earlier capture is kept: {reason}",
    "coding_unknown": "The content coding {coding} is not supported; the body is used as received.",
    "coding_wrong": "The body is not {coding} as declared ({problem}); it is used as received.",
    "decoded_in_part": "The {coding} stream could not be decoded after {size:,} bytes ({problem}).",
    "stream_incomplete": "it is incomplete",
    "made_by_component": "The answer did not come from the server, but from a component of the collector.",
    "rewritten_by_component": "A component of the collector requests {url} instead.",
    "kept_in_part": "{reason} What arrived is kept.",
    "links_lost": "Its links were lost to an error in a spider middleware: {error}.",
    "not_rendered": "It could not be rendered: {problem}.",
    "missing_requisite": "{url}: {reason}",
}
"""Answers of servers, and notes about them."""

FAILURE_REASONS: dict[str, str] = {
    "name_not_resolved": "The name {host} does not resolve.",
    "name_lookup_failed": "The name {host} could not be looked up ({error}).",
    "private_address": "The server {host} is at the private address {address}. To visit it, set allow_private, or list "
    "its network in TARANTULA_PRIVATE_NETWORKS.",
    "private_host": "The server {host} is at a private address.",
    "special_address": "The server {host} is at the address {address}, which has a special use, such as metadata or "
    "multicast. Only a network listed in TARANTULA_PRIVATE_NETWORKS may include it.",
    "proxied_name_unknown": "The name {host} does not resolve here, so that it cannot be checked before the proxy is "
    "asked for it. If the proxy itself refuses private addresses, set TARANTULA_PROXY_GUARDS=1.",
    "socket_not_permitted": "A connection to {target}, which is no internet address, is not permitted.",
    "connection_refused": "The server {server} refused the connection.",
    "connection_reset": "The server {server} reset the connection.",
    "connection_timeout": "The server {server} did not accept the connection in time.",
    "connection_failed": "The server {server} cannot be reached: {error}.",
    "certificate_not_accepted": "The server {server} was reached, but its certificate is not accepted: {problem}.",
    "tls_failed": "The server {server} was reached, but TLS failed: {problem}.",
    "files_of_process": "This process has {limit} files open, and may not open more. Raise its limit with `ulimit -n`.",
    "files_of_machine": "This machine has too many files open. Raise its limit, fs.file-max.",
    "ports_of_machine": "This machine has no free port for a connection. Widen net.ipv4.ip_local_port_range.",
    "memory_of_machine": "This machine has no memory left for the request.",
    "memory_low": "Only {available} MB of memory are left, and {limit} MB is the limit (TARANTULA_MIN_MEMORY).",
    "processes_of_machine": "This machine cannot start another process. Raise its limit with `ulimit -u` or pids.max.",
    "proxy_closed": "The proxy closed the connection to {server}.",
    "proxy_refused": "The proxy answered {status} when asked for {server}.",
    "proxy_not_url": "The proxy {proxy} is not a URL: {error}.",
    "proxy_not_supported": "The proxy {proxy} is not supported. Write it as http://host:port.",
    "timeout": "It took longer than {seconds:g} s; it was {stage}.",
    "stage_beginning": "beginning",
    "stage_lookup": "looking up the name",
    "stage_connecting": "connecting",
    "stage_waiting": "waiting for the response",
    "stage_headers": "reading the headers",
    "stage_body": "reading the body, {size:,} bytes so far",
    "stage_decoding": "decoding the body",
    "not_http": "The response is not HTTP: it starts with {start}.",
    "no_status_code": "The response has no status code: it starts with {start}.",
    "no_response": "The server closed the connection without a response.",
    "headers_incomplete": "The response ended within its headers.",
    "headers_too_large": "The headers are larger than {limit:,} bytes.",
    "lengths_differ": "The headers declare different lengths of the body.",
    "too_many_interim": "More than {limit} interim responses came before the final one.",
    "body_incomplete": "The body ended after {size:,} of {length:,} bytes.",
    "chunks_incomplete": "The body ended after {size:,} bytes, before its last chunk.",
    "chunk_line_too_long": "A line between two chunks is longer than {limit:,} bytes.",
    "not_chunked": "The body is not chunked as declared: {line} is not a chunk size.",
    "body_too_large": "The body is larger than {limit:,} bytes.",
    "decoded_too_large": "The decoded body is larger than {limit:,} bytes.",
    "address_invalid": "The address {url} is not an http or https URL.",
    "method_not_sendable": "The method {method} has characters that cannot be sent.",
    "address_not_sendable": "The address {target} has characters that cannot be sent.",
    "header_not_sendable": "The header {header} has a line break in it.",
    "port_invalid": "The port of the server {server} is not a number.",
    "server_invalid": "The server {server} has no valid host and port.",
    "not_collected": "The document could not be collected: {error}.",
    "dropped_by_pipeline": "A pipeline dropped it: {why}.",
    "dropped_by_middleware": "A downloader middleware dropped it: {why}.",
    "pipeline_failed": "A pipeline failed: {error}.",
    "spider_failed": "The spider failed: {error}.",
}
"""Why a document could not be collected."""

EGRESS_REASONS: dict[str, str] = {
    "egress_public": "Public addresses only.",
    "egress_named": "Public addresses, and those that the publication names: {addresses}.",
    "egress_private": "Public and private addresses, because allow_private is set.",
    "egress_networks": "Also {networks}, from TARANTULA_PRIVATE_NETWORKS.",
    "egress_proxy": "The proxy is trusted to refuse private addresses (TARANTULA_PROXY_GUARDS).",
}
"""Which addresses the collectors of an item may connect to."""

INDICATOR_REASONS: dict[str, str] = {
    "indicator_errors": "{value} of the requested documents failed ({rule}).",
    "indicator_waiting": "{value} of the documents are still waiting ({rule}).",
    "indicator_collected": "{value} documents were collected ({rule}).",
    "indicator_documents": "The number of documents changed by {value} ({rule}).",
    "indicator_bytes": "The bytes changed by {value} ({rule}).",
    "indicator_missing_requisites": "{value} of the page requisites are missing ({rule}).",
    "indicator_vanished_servers": "{value} of the servers of the previous item are gone ({rule}).",
    "indicator_vanished_types": "{value} of the types of the previous item are gone ({rule}).",
    "indicator_base_missing": "The base document was not collected ({rule}).",
    "indicator_base_changed": "The base document changed ({rule}).",
    "indicator_mirror_missing": "{value} of the documents are missing in the mirror ({rule}).",
    "indicator_missing_bodies": "{value} stored bodies could not be read back ({rule}).",
    "indicator_damaged_files": "{value} WARC files are missing or damaged ({rule}).",
    "indicator_state": "{value} of the documents have that state ({rule}).",
    "damage_after_acceptance": "Damage was found at {found_at} UTC, after {by} accepted the item at {decided_at} UTC.",
}
"""Which rule of a publication on an indicator fired, and what was found after a decision."""

PARSER_REASONS: dict[str, str] = {
    "parser_time": "Its parser took longer than {seconds:g} seconds and was stopped.",
    "parser_memory": "Its parser needed more than {limit:,} megabytes of memory and was stopped.",
    "parser_output": "Its parser returned more than {limit:,} bytes and was stopped.",
    "parser_died": "Its parser crashed (exit code {exit_code}), as it may if it needs more than {limit:,} megabytes.",
}
"""Why the parser of a document was stopped."""

REASON_TEMPLATES: dict[str, str] = {
    TEXT: "{text}",
    **ITEM_REASONS,
    **SCOPE_REASONS,
    **ANSWER_REASONS,
    **FAILURE_REASONS,
    **EGRESS_REASONS,
    **INDICATOR_REASONS,
    **PARSER_REASONS,
}
"""English template of each code, with the names of its parameters."""


@dataclass(slots=True)
class Reason:
    """A code of `REASON_TEMPLATES` with its parameters, which JSON can hold."""

    code: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    _json: str | None = field(default=None, init=False, repr=False, compare=False)

    @classmethod
    def of(cls, code: str, **parameters: Any) -> Self:
        """Return a reason with the given parameters; a parameter may be a reason."""
        return cls(str(code), {name: _data(value) for name, value in parameters.items()})

    @classmethod
    def custom(cls, code: str, template: str, **parameters: Any) -> Self:
        """Return a reason of an extension: a code of its own, stored with its English template."""
        if not _CODE.fullmatch(code) or len(code) > MAX_CODE_LENGTH:
            raise ValueError(f"{code!r} is not a code: write up to {MAX_CODE_LENGTH} letters a to z, digits and _.")
        if code in REASON_TEMPLATES or code == MESSAGE:
            raise ValueError(f"The code {code!r} is a built-in one. Choose another name.")
        return cls.of(code, **parameters, template=template)

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """Return a reason from its form in JSON: `code` and `parameters`."""
        return cls(data["code"], data.get("parameters") or {})

    def as_data(self) -> dict[str, Any]:
        """Return the form of the reason in JSON."""
        return {"code": self.code, "parameters": dict(self.parameters)}

    def with_note(self, note: Reason) -> Reason:
        """Return this reason with one more note, whose sentence follows."""
        notes = [*self.parameters.get(NOTES, ()), note.as_data()]
        return Reason(self.code, {**self.parameters, NOTES: notes})

    def sentence(self) -> Message:
        """Return the reason in English, as a message that can be translated."""
        template = REASON_TEMPLATES.get(self.code) or self.parameters.get(TEMPLATE, "")
        try:
            values = {name: _rendered(value) for name, value in self.parameters.items() if name not in UNSHOWN}
            # Without any parameter a message shows its template as it is.
            is_known = template and (values or "{" not in template)
            sentence = Message(template, **values) if is_known else self._unknown()
        except (LookupError, ValueError, AttributeError):
            sentence = self._unknown()
        notes = [Reason.from_data(note).sentence() for note in self.parameters.get(NOTES, ())]
        return join_messages([sentence, *notes], " ") if notes else sentence

    def parameters_json(self) -> str | None:
        """Return the parameters as a JSON text without NUL and lone surrogates, which databases refuse."""
        if self._json is None and self.parameters:
            text = _encode(self.parameters)
            if "\\u0000" in text:
                text = _encode(_without_nul(self.parameters))
            self._json = text if text.isascii() else text.encode("utf-8", "replace").decode()
        return self._json

    def _unknown(self) -> Message:
        # Written by a newer version, or by a component that is not installed.
        text = f"{self.code} {dict(self.parameters)}" if self.parameters else self.code
        return Message(text)

    def __str__(self) -> str:
        return self.sentence()


def as_reason(reason: Reason | str) -> Reason:
    """Return a reason; a message becomes one with the code `MESSAGE`, another sentence one with the code `TEXT`."""
    if isinstance(reason, Reason):
        return reason
    if isinstance(reason, Message):
        values = {name: _stored_value(value) for name, value in reason.parameters.items()}
        stored = Reason(MESSAGE, {**values, TEMPLATE: reason.template})
        # A value that JSON cannot hold may have another format as text.
        if stored.sentence() == reason:
            return stored
    return Reason(TEXT, {"text": str(reason)})


def reason_fields(reason: Reason | None) -> dict[str, Any]:
    """Return the fields `reason` (the English sentence), `reason_code` and `reason_parameters` of a row in JSON."""
    if reason is None:
        return {"reason": None, "reason_code": None, "reason_parameters": None}
    return {"reason": reason.sentence(), "reason_code": reason.code, "reason_parameters": dict(reason.parameters)}


def stored_reason(reason: Reason | None) -> dict[str, Any]:
    """Return the values of the columns `reason_code` and `reason_parameters`."""
    if reason is None:
        return {"reason_code": None, "reason_parameters": None}
    stored = reason.parameters_json()
    return {"reason_code": reason.code, "reason_parameters": json.loads(stored) if stored else {}}


_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str).encode


def _data(value: Any) -> Any:
    return value.as_data() if isinstance(value, Reason) else value


def _stored_value(value: Any) -> Any:
    if isinstance(value, Message):
        return as_reason(value).as_data()
    return value if isinstance(value, str | int | float | None) else str(value)


def _rendered(value: Any) -> Any:
    return Reason.from_data(value).sentence() if isinstance(value, Mapping) and "code" in value else value


def _without_nul(value: Any) -> Any:
    match value:
        case str():
            return value.replace("\0", "")
        case Mapping():
            return {name: _without_nul(inner) for name, inner in value.items()}
        case list() | tuple():
            return [_without_nul(inner) for inner in value]
    return value
