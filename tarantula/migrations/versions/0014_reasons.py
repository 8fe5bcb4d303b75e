"""Store the reasons of documents, visits, fired rules and streams as codes with parameters, in place of sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator
from string import Formatter
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"

STREAM_TEXTS = (("source_state", "source_id", "sentence"), ("put_aside", "id", "why"), ("firing", "id", "why"))
"""Table, key and column of sentences about streams."""
BATCH_ROWS = 20_000
"""Rows of a table that are converted at a time."""

SENTENCES = (
    ("server_excluded", "The server {server} is excluded from {publication} by the pattern {pattern}."),
    ("server_excluded_by_settings", "The server {server} is excluded by its own settings."),
    ("server_excluded_by_settings", "The server {server} is excluded by the settings that it has of its own."),
    ("server_not_accepted", "The server {server} is not among the accepted servers of {publication}."),
    ("url_invalid", "It is not a valid URL."),
    ("url_invalid", "It is not a URL that a browser could read."),
    ("url_too_long", "The URL has {length:d} characters, and {limit:d} is the limit."),
    ("host_too_long", "The URL's host has {length:d} letters, and {limit:d} is the limit."),
    ("url_not_escaped", "The URL has unescaped spaces, control characters or letters."),
    ("url_not_escaped", "The URL holds spaces, control characters or letters that are not escaped."),
    ("url_with_user", "The URL has a user name, and the collector does not log in."),
    ("url_with_user", "The URL carries a user name, and a collector logs in nowhere."),
    ("path_too_long", "Its path has {segments:d} segments, and {limit:d} is the limit."),
    ("path_repeats", "Its path repeats {repeated} too often."),
    ("path_repeats", "Its path repeats {repeated} again and again."),
    (
        "too_deep_requisite",
        "It is {depth:d} links from the base document, and the publication {publication} has a maximum depth of "
        "{limit:d}, plus {extra:d} for page requisites.",
    ),
    (
        "too_deep_requisite",
        "It lies {depth:d} links from the base document, and {publication} goes {limit:d} deep, and {extra:d} more "
        "for what a page needs to be whole.",
    ),
    (
        "too_deep",
        "It is {depth:d} links from the base document, and the publication {publication} has a maximum depth of "
        "{limit:d}.",
    ),
    ("too_deep", "It lies {depth:d} links from the base document, and {publication} goes {limit:d} deep."),
    (
        "too_deep_on_server",
        "It is {depth:d} links from the base document, and the server {server} has a maximum depth of {limit:d}.",
    ),
    (
        "too_deep_on_server",
        "It lies {depth:d} links from the base document, and {server} is collected {limit:d} deep.",
    ),
    ("too_many_redirects", "{redirects:d} redirects in a row lead here, and {limit:d} is the limit."),
    (
        "server_budget",
        "The server {server} has a maximum of {limit:d} documents, and all of them were requested.",
    ),
    ("server_budget", "{server} is collected up to {limit:d} documents, and they were asked for."),
    ("same_body", "More than {limit:d} URLs of its server have the same body as the page that links to it."),
    ("same_body", "More than {limit:d} addresses of its server have the body of the page that names it."),
    ("ever_longer", "{steps:d} URLs in a row only extend the previous one, and {limit:d} is the limit."),
    ("ever_longer", "{steps:d} URLs in a row only make the one before longer, and {limit:d} is the limit."),
    ("calendar_steps", "It is {steps:d} steps from date to date away, and {limit:d} is the limit."),
    ("calendar_year", "It is a calendar's page for {year:d}, and {limit:d} is the limit."),
    ("too_many_sessions", "It differs from {:d} other URLs only in its session id, and {limit:d} is the limit."),
    ("type_of_extension", "The extension .{extension} says that it is {type}, which {publication} does not want."),
    ("type_not_wanted", "Its type is {type}, which {publication} does not want."),
    ("type_unknown", "Neither the Content-Type header nor the extension nor the content shows its type."),
    ("type_unknown", "Neither a Content-Type header nor its extension nor its content tells what type it is."),
    ("too_large", "It has {size:d} bytes, and {publication} takes at most {limit:d}."),
    ("robots_excluded", "{robots} excludes it."),
    (
        "robots_error",
        "{robots} returned {status:d}; everything on that server is excluded until it can be read.",
    ),
    ("robots_unreached", "{robots} could not be fetched: {reason}"),
    ("robots_unreached", "{robots} could not be had: {reason}"),
    ("redirected_to_itself", "The server answered {answer}: it redirects to itself."),
    ("redirected_unreadably", "The server answered {answer}: it redirects to an address that cannot be read."),
    ("redirected", "The server answered {answer}: it redirects to {target}."),
    ("redirected_nowhere", "The server answered {answer}, without saying where to."),
    ("to_be_retried", "To be tried again: {reason}"),
    ("earlier_capture_kept", "The visit failed, and the earlier capture is kept: {reason}"),
    ("earlier_capture_kept", "It could not be visited again, and is kept as it was collected before: {reason}"),
    ("name_not_resolved", "The name {host} does not resolve."),
    ("private_address", "The server {host} is at the private address {address}."),
    ("private_host", "The server {host} is at a private address."),
    ("connection_refused", "The server {server} refused the connection."),
    ("connection_reset", "The server {server} reset the connection."),
    ("connection_timeout", "The server {server} did not accept the connection in time."),
    ("connection_timeout", "The server {server} did not take the connection."),
    ("connection_failed", "The server {server} cannot be reached: {error}."),
    ("certificate_not_accepted", "The server {server} was reached, but its certificate is not accepted: {problem}."),
    ("tls_failed", "The server {server} was reached, but TLS failed: {problem}."),
    ("proxy_closed", "The proxy closed the connection to {server}."),
    ("proxy_refused", "The proxy answered {status:d} when asked for {server}."),
    ("proxy_not_url", "The proxy {proxy} is not a URL: {error}."),
    ("proxy_not_supported", "The proxy {proxy} is not supported. Write it as http://host:port."),
    ("proxy_not_supported", "The proxy {proxy} is not one that can be used: only http://host:port is."),
    ("timeout", "It took longer than {seconds:f} seconds; it was {stage}."),
    ("timeout", "It took longer than {seconds:f} second; it was {stage}."),
    ("not_http", "The response is not HTTP: it starts with {start}."),
    ("not_http", "The answer is not HTTP: it begins with {start}."),
    ("no_status_code", "The response has no status code: it starts with {start}."),
    ("no_status_code", "The answer has no status code: it begins with {start}."),
    ("no_response", "The server closed the connection without a response."),
    ("no_response", "The server closed the connection without an answer."),
    ("headers_incomplete", "The response ended within its headers."),
    ("headers_incomplete", "The answer broke off in its headers."),
    ("headers_too_large", "The headers are larger than {limit:d} bytes."),
    ("lengths_differ", "The headers declare different lengths of the body."),
    ("lengths_differ", "The headers give different lengths for one body."),
    ("too_many_interim", "More than {limit:d} interim responses came before the final one."),
    ("too_many_interim", "More than {limit:d} interim answers came before the real one."),
    ("body_incomplete", "The body ended after {size:d} of {length:d} bytes."),
    ("body_incomplete", "The body broke off after {size:d} of {length:d} bytes."),
    ("chunks_incomplete", "The body ended after {size:d} bytes, before its last chunk."),
    ("chunks_incomplete", "The body broke off after {size:d} bytes, before its last chunk."),
    ("chunk_line_too_long", "A line between two chunks is longer than {limit:d} bytes."),
    ("not_chunked", "The body is not chunked as declared: {line} is not a chunk size."),
    ("not_chunked", "The body is not in chunks as it says: {line} is not the size of one."),
    ("body_too_large", "The body is larger than {limit:d} bytes."),
    ("decoded_too_large", "The decoded body is larger than {limit:d} bytes."),
    ("decoded_too_large", "The body unpacks to more than {limit:d} bytes."),
    ("address_invalid", "The address {url} is not an http or https URL."),
    ("address_invalid", "The address {url} is not one of the web."),
    ("method_not_sendable", "The method {method} has characters that cannot be sent."),
    ("address_not_sendable", "The address {target} has characters that cannot be sent."),
    ("header_not_sendable", "The header {header} has a line break in it."),
    ("port_invalid", "The port of the server {server} is not a number."),
    ("port_invalid", "The server {server} has no port that can be read."),
    ("server_invalid", "The server {server} has no valid host and port."),
    ("server_invalid", "The server {server} cannot be asked."),
    ("not_collected", "The document could not be collected: {error}."),
    ("dropped_by_pipeline", "A pipeline dropped it: {why}."),
    ("pipeline_failed", "A pipeline failed: {error}."),
    ("spider_failed", "The spider failed: {error}."),
)
"""The sentences of earlier versions, with the names of their values. Any other is kept, with the code ``text``."""

ANSWERS = (
    ("answered", "The server answered {answer}."),
    ("not_modified", "Not modified since {collected_at} UTC, when {urn} collected it."),
)
"""Sentences that notes may follow."""

NOTES = (
    ("coding_unknown", "The content coding {coding} is not supported; the body is used as received."),
    ("coding_unknown", "The content coding {coding} is not known here; the body is as it was sent."),
    ("coding_wrong", "The body is not {coding} as declared ({problem}); it is used as received."),
    ("coding_wrong", "The body is not {coding} as it says ({problem}); it is as it was sent."),
    ("decoded_in_part", "The {coding} stream could not be decoded after {size:d} bytes ({problem})."),
    ("decoded_in_part", "The {coding} stream could not be unpacked after {size:d} bytes ({problem})."),
    ("made_by_component", "The answer did not come from the server, but from a component of the collector."),
    ("links_lost", "Its links were lost to an error in a spider middleware: {error}."),
    ("not_rendered", "It could not be rendered: {problem}."),
)

PARTS = {
    "stage": (
        ("stage_beginning", "beginning"),
        ("stage_lookup", "looking up the name"),
        ("stage_connecting", "connecting"),
        ("stage_waiting", "waiting for the response"),
        ("stage_waiting", "waiting for the answer"),
        ("stage_headers", "reading the headers"),
        ("stage_body", "reading the body, {size:d} bytes so far"),
        ("stage_decoding", "decoding the body"),
        ("stage_decoding", "unpacking the body"),
    ),
    "problem": (("stream_incomplete", "it is incomplete"), ("stream_incomplete", "it breaks off")),
}
"""Values that are part of a sentence."""

PERCENT = frozenset(
    {
        "errors",
        "waiting",
        "documents",
        "bytes",
        "missing-requisites",
        "vanished-servers",
        "vanished-types",
        "mirror-missing",
    }
)
FLAGS = frozenset({"base-missing", "base-changed"})

FIRST_WORD = re.compile(r"[^ {]+ ")
Patterns = list[tuple[str, re.Pattern[str]]]


def upgrade() -> None:
    """Convert the sentences of documents and visits, of rules that fired, of missing requisites and of streams."""
    connection = op.get_bind()
    op.execute("CREATE TEMPORARY TABLE sentence (reason TEXT, code VARCHAR(60), parameters JSON)")
    for name in ("document", "visit"):
        add_reason_columns(name)
        for first, last in batches(connection, name):
            convert(connection, name, first, last)
        op.drop_column(name, "reason")
    op.execute("DROP TABLE sentence")
    convert_items(connection)
    for name, key, column in STREAM_TEXTS:
        convert_texts(connection, name, key, column)


def add_reason_columns(name: str) -> None:
    """Add the columns of a reason to a table."""
    op.add_column(name, sa.Column("reason_code", sa.String(60)))
    op.add_column(name, sa.Column("reason_parameters", sa.JSON(none_as_null=True)))


def batches(connection: sa.Connection, name: str, key: str = "id") -> Iterator[tuple[int, int]]:
    """Yield ranges of ids with at most `BATCH_ROWS` rows each: the id before the first, and the last."""
    number = sa.table(name, sa.column(key, sa.BigInteger)).c[key]
    first = 0
    while True:
        ids = sa.select(number).where(number > first).order_by(number).limit(BATCH_ROWS).subquery()
        last = connection.scalar(sa.select(sa.func.max(ids.c[key])))
        if last is None:
            return
        yield first, last
        first = last


def convert(connection: sa.Connection, name: str, first: int, last: int) -> None:
    """Convert the sentences of the rows with ids after *first* and up to *last*, each different sentence once."""
    rows = sa.table(name, sa.column("id", sa.BigInteger), sa.column("reason", sa.Text))
    chosen = sa.select(rows.c.reason).where(rows.c.id > first, rows.c.id <= last, rows.c.reason.is_not(None)).distinct()
    parsed = [(sentence, *parse(sentence)) for sentence in connection.scalars(chosen)]
    if not parsed:
        return
    sentences = sa.table(
        "sentence",
        sa.column("reason", sa.Text),
        sa.column("code", sa.String),
        sa.column("parameters", sa.JSON(none_as_null=True)),
    )
    connection.execute(sentences.delete())
    connection.execute(
        sentences.insert(),
        [{"reason": reason, "code": code, "parameters": values or None} for reason, code, values in parsed],
    )
    if connection.dialect.name == "postgresql":
        connection.execute(sa.text("ANALYZE sentence"))
    connection.execute(
        sa.text(
            f"UPDATE {name} SET reason_code = sentence.code, reason_parameters = sentence.parameters FROM sentence"
            f" WHERE {name}.id > :first AND {name}.id <= :last AND {name}.reason = sentence.reason"
        ),
        {"first": first, "last": last},
    )


def convert_texts(connection: sa.Connection, name: str, key: str, column: str) -> None:
    """Store the sentences of a table of streams as reasons with the code ``text``."""
    add_reason_columns(name)
    make_object = "json_build_object" if connection.dialect.name == "postgresql" else "json_object"
    for first, last in batches(connection, name, key):
        connection.execute(
            sa.text(
                f"UPDATE {name} SET reason_code = 'text', reason_parameters = {make_object}('text', {column})"
                f" WHERE {key} > :first AND {key} <= :last AND {column} <> ''"
            ),
            {"first": first, "last": last},
        )
    op.drop_column(name, column)


def convert_items(connection: sa.Connection) -> None:
    """Convert the sentences in the columns `attention` and `indicators` of items."""
    item = sa.table(
        "item",
        sa.column("id", sa.Integer),
        sa.column("attention", sa.JSON(none_as_null=True)),
        sa.column("indicators", sa.JSON(none_as_null=True)),
    )
    for identity in connection.scalars(sa.select(item.c.id).where(item.c.indicators.is_not(None))).all():
        row = connection.execute(sa.select(item).where(item.c.id == identity)).one()
        for example in row.indicators["requisites"]["examples"]:
            sentence = example.pop("reason")
            code, parameters = parse(sentence) if sentence is not None else (None, None)
            example.update(reason_code=code, reason_parameters=parameters)
        values = {"indicators": row.indicators, "attention": row.attention and list(map(fired, row.attention))}
        connection.execute(item.update().where(item.c.id == identity).values(values))


def fired(entry: dict[str, Any]) -> dict[str, Any]:
    """Return a rule that fired, with the code of its indicator in place of the sentence."""
    indicator = entry["rule"].split()[0]
    parameters = {"rule": entry["rule"]}
    if indicator not in FLAGS:
        unit = "" if indicator == "collected" else "%"
        parameters["value"] = f"{entry['value']:.1f}".removesuffix(".0") + unit
    known = indicator in PERCENT | FLAGS | {"collected"}
    code = f"indicator_{indicator.replace('-', '_') if known else 'state'}"
    kept = {name: value for name, value in entry.items() if name != "reason"}
    return {**kept, "reason_code": code, "reason_parameters": parameters}


def parse(sentence: str) -> tuple[str, dict[str, Any]]:
    """Return the code and the parameters of a sentence that an earlier version wrote."""
    for code, pattern in ANSWER_PATTERNS:
        if found := pattern.match(sentence):
            notes = list(parse_notes(sentence[found.end() :].strip()))
            return code, values_of(found) | ({"notes": notes} if notes else {})
    first = FIRST_WORD.match(sentence)
    for code, pattern in (*PATTERNS.get(first[0] if first else "", ()), *PATTERNS[""]):
        if found := pattern.fullmatch(sentence):
            return code, values_of(found)
    return "text", {"text": sentence}


def parse_notes(text: str) -> Iterator[dict[str, Any]]:
    """Yield the notes after a sentence; what is not known is one note, with the code ``text``."""
    while text:
        for code, pattern in NOTE_PATTERNS:
            if found := pattern.match(text):
                yield {"code": code, "parameters": values_of(found)}
                text = text[found.end() :].strip()
                break
        else:
            yield {"code": "text", "parameters": {"text": text}}
            return


def values_of(found: re.Match[str]) -> dict[str, Any]:
    """Return the parameters in a sentence: texts, numbers and, for other reasons, objects with code and parameters."""
    return {
        name.removesuffix("_d").removesuffix("_f"): value_of(name, text) for name, text in found.groupdict().items()
    }


def value_of(name: str, text: str) -> Any:
    """Return a parameter; the name of a number ends in ``_d`` or ``_f``."""
    if name.endswith("_d"):
        return int(text.replace(",", ""))
    if name.endswith("_f"):
        return float(text)
    if name == "reason":
        code, parameters = parse(text)
        return {"code": code, "parameters": parameters}
    for code, pattern in PART_PATTERNS.get(name, ()):
        if found := pattern.fullmatch(text):
            return {"code": code, "parameters": values_of(found)}
    return text


def pattern_of(template: str, end: str = "") -> re.Pattern[str]:
    """Return the pattern of a sentence; ``{:d}`` stands for a number that is not kept."""
    pieces = []
    for text, name, spec, _ in Formatter().parse(template):
        # A depth of one was written in the singular.
        pieces.append(re.escape(text).replace("links\\ from", "links?\\ from"))
        if name is None:
            continue
        shape = {"d": r"[\d,]+", "f": r"[\d.e+-]+"}.get(spec or "", ".+?")
        if name == "answer":
            shape = r"\d{3}(?: [^.:,]*)?"
        pieces.append(f"(?P<{name}{'_' + spec if spec else ''}>{shape})" if name else shape)
    return re.compile("".join(pieces) + end, re.DOTALL)


def patterns_by_word() -> dict[str, Patterns]:
    """Return the patterns of sentences by their first word; those that begin with a value are under ``""``."""
    found: dict[str, Patterns] = {"": []}
    for code, template in SENTENCES:
        first = FIRST_WORD.match(template)
        found.setdefault(first[0] if first else "", []).append((code, pattern_of(template)))
    return found


PATTERNS = patterns_by_word()
ANSWER_PATTERNS = [(code, pattern_of(template, r"(?=\Z|\s)")) for code, template in ANSWERS]
NOTE_PATTERNS = [(code, pattern_of(template, r"(?=\Z|\s)")) for code, template in NOTES]
PART_PATTERNS = {
    name: [(code, pattern_of(template)) for code, template in templates] for name, templates in PARTS.items()
}
