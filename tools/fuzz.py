"""Feed mutated bytes to the parsers of foreign data, guided by the code that they reach (atheris, a libFuzzer).

    python -m tools.fuzz TARGET --seconds N [--folder FOLDER]

Targets: http (responses as they arrive from a server), links (extraction, conversion and replay of documents),
sanitiser (pages in the picker), alerts (conditions of alerts). The seeds are the cases of the tests. Inputs that reach
new code are kept in FOLDER/TARGET, and an input that fails is written next to that folder. With ``--file FILE`` one
input is run again, without atheris.

Needs the extra ``fuzz``. Exits with 0 if nothing was found.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from decimal import Decimal
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from time import process_time
from typing import Any

SECONDS_PER_INPUT = 5
"""Processor time."""
HANG_SECONDS = 60
"""Time after which an input counts as one that hangs; on a busy machine the fuzzer may not run for many seconds."""
MAX_INPUT_BYTES = 4096
MAX_MEMORY_MB = 2048
SEED_MODULES = {
    "http": ("tests.fetch.test_response", "tests.fetch.test_content_coding"),
    "links": (
        "tests.links.test_hostile",
        "tests.links.test_html",
        "tests.links.test_invalid_html",
        "tests.links.test_css",
        "tests.links.test_feeds",
        "tests.links.test_convert",
        "tests.web.test_replay_connections",
    ),
    "sanitiser": ("tests.streams.test_picker_safe_page", "tests.support.picker_pages"),
    "alerts": ("tests.streams.test_alert_condition_text",),
}
"""Modules of tests whose texts and bytes are the seeds of each target."""
Target = Callable[[bytes], None]


def http_target() -> Target:
    """Return a function that reads a response, whole and in pieces, with the same result."""
    from tarantula.fetch.content_coding import decode_body
    from tarantula.fetch.exchange import DownloadError, FetchRequest
    from tarantula.fetch.response import ResponseReader
    from tarantula.links.extract import header_links

    def read(pieces: Iterable[bytes], method: str) -> tuple[object, ...]:
        reader = ResponseReader(FetchRequest("http://a.pt/", method=method, max_size=100_000), max_head=10_000)
        try:
            for piece in pieces:
                if reader.complete:
                    break
                reader.feed(piece)
            if not reader.complete:
                reader.finish()
            assert reader.body is not None
            payload = reader.body.payload()
            header_links(reader.headers, "http://a.pt/")
            decoded = decode_body(payload, reader.codings, 1_000_000)
        except DownloadError as error:
            return (type(error),)
        return reader.status, reader.headers, payload, decoded

    def check(data: bytes) -> None:
        method, size, answer = ("GET", "HEAD", "CONNECT")[data[0] % 3], data[1] + 1, data[2:]
        whole = read([answer], method)
        pieces = read((answer[start : start + size] for start in range(0, len(answer), size)), method)
        assert whole == pieces, "pieces make a difference"

    return lambda data: check(data) if len(data) > 2 else None


def links_target() -> Target:
    """Return a function that extracts, converts and neutralises the links of a document."""
    from turbohtml import parse

    from tarantula.core.urls import canonical, is_web
    from tarantula.links.convert import convert_links
    from tarantula.links.extract import EXTRACTORS, extract_links
    from tarantula.links.foreign_loads import without_foreign_loads
    from tarantula.links.relocation import LinkDestination, Relocator
    from tarantula.links.values import join_reference

    url = "http://a.pt/dir/page.html"
    types = [*EXTRACTORS, "application/atom+xml", None]
    charsets = (None, "utf-8", "utf-16", "big5", "iso-2022-jp", "windows-1252", "gb18030")
    relocator = Relocator(lambda target, requisite: LinkDestination(target, None), live_requests=False)

    def check(data: bytes) -> None:
        kind, charset, body = types[data[0] % len(types)], charsets[data[1] % len(charsets)], data[2:]
        found = [link.url for link in extract_links(body, kind, url, charset)]
        assert len(found) == len(set(found)), "a link is there twice"
        for one in found:
            assert is_web(one), f"{one!r} is not of the web"
            assert canonical(one) == one, f"{one!r} is not canonical"
        convert_links(body, kind, url, charset, relocator, "web/a.pt/dir/")
        served = without_foreign_loads(body, kind or "text/html", charset)
        if served is not None and kind in (None, "text/html"):
            again = without_foreign_loads(served.encode("utf-8", "replace"), "text/html", "utf-8")
            assert again == served, f"{served!r} is changed once more, to {again!r}"
            for element in parse(served, scripting=True).select("iframe[src], frame[src], embed[src], object[data]"):
                _check_local(element.attr("src") or element.attr("data") or "")

    def _check_local(reference: str) -> None:
        target = join_reference("http://one.pt/a/", reference) or ""
        assert not is_web(target) or target.startswith("http://one.pt/"), f"{reference!r} leads out"

    return lambda data: check(data) if len(data) > 2 else None


def sanitiser_target() -> Target:
    """Return a function that sanitises a page and looks for what must not be in it."""
    from turbohtml import Element, parse

    from tarantula.core.errors import TarantulaError
    from tarantula.links.values import references_in_css
    from tarantula.streams.adapters.base import SourceResponse
    from tarantula.streams.picker.page import PageTree, safe_css, safe_page

    active = {"iframe", "frame", "object", "embed", "form", "input", "button", "select", "svg", "math", "base", "meta"}
    active |= {"video", "audio", "source", "template", "style", "dialog", "applet", "area", "portal"}
    own = ("image/", "sheet/", "#", "data:image/", "/pick.js")

    def check(data: bytes) -> None:
        try:
            page = safe_page(PageTree.of(SourceResponse("http://a.pt/", data, "text/html")), "http://a.pt/")
        except TarantulaError:
            return
        document = parse(page.document("nonce", "/pick.js"))
        elements = [node for node in document.descendants if isinstance(node, Element)]
        tags = [element.tag for element in elements]
        assert tags.count("script") == 1, "a script is left"
        assert tags.count("meta") == 1, "a meta element is left"
        assert not (active - {"meta"}).intersection(tags), f"one of {set(tags)} is left"
        for element in elements:
            for name in element.attrs:
                value = str(element.attr(name) or "")
                assert not name.lower().startswith("on"), f"{name} is left"
                assert name not in ("src", "href") or value.startswith(own) or not value, f"{value!r} is left"
                assert name != "style" or not list(_loaded(value)), f"{value!r} is left"
        for sheet in page.sheets:
            assert not list(_loaded(safe_css(sheet.text))), "a stylesheet loads something"

    def _loaded(css: str) -> Iterator[str]:
        return (one for one in references_in_css(css) if one and not one.startswith("data:"))

    return check


def alerts_target() -> Target:
    """Return a function that parses a condition, formats and parses it again, and compares values with its literals."""
    from tarantula.core.errors import TarantulaError
    from tarantula.streams.alerts.condition import AlertRule, CompareCondition, leaf_conditions
    from tarantula.streams.alerts.condition_text import format_rule, parse_rule
    from tarantula.streams.alerts.config import read_alert, type_literals
    from tarantula.streams.alerts.evaluate import SeenValue, compare_values
    from tarantula.streams.kinds import ValueKind
    from tarantula.streams.sources.config import SourceField

    kinds = (None, *ValueKind)
    seen = SeenValue("1,5 of some text", Decimal("1.5"))

    def compare(rule: AlertRule) -> None:
        keys = {leaf.field for leaf in leaf_conditions(rule.when) if leaf.field}
        fields = {key: SourceField(key=key, kind=kinds[sum(key.encode()) % len(kinds)]) for key in keys}
        with suppress(TarantulaError):
            for literal in type_literals(rule, fields, lambda key: ()).values():
                assert literal.number is None or literal.number.is_finite(), f"{literal} is not finite"
        for leaf in leaf_conditions(rule.when):
            if isinstance(leaf, CompareCondition):
                compare_values(seen, leaf.sign, SeenValue(leaf.value))

    def check(data: bytes) -> None:
        text = data.decode("utf-8", "replace")
        with suppress(TarantulaError):
            compare(read_alert({"condition": text}).condition)
        try:
            rule = parse_rule(text)
        except TarantulaError:
            return
        written = format_rule(rule)
        assert parse_rule(written) == rule, f"{written!r} is read as another rule"
        assert format_rule(parse_rule(written)) == written

    return check


TARGETS: dict[str, Callable[[], Target]] = {
    "http": http_target,
    "links": links_target,
    "sanitiser": sanitiser_target,
    "alerts": alerts_target,
}
_PREFIXES = {"http": b"\0\xff", "links": b"\0\0"}
"""Bytes before a seed, which choose how it is read."""


def seeds(name: str) -> set[bytes]:
    """Return the texts and bytes in the constants and the parameters of the tests of a target."""
    found: set[bytes] = set()
    for module in map(import_module, SEED_MODULES[name]):
        marks = (mark for value in vars(module).values() for mark in getattr(value, "pytestmark", ()))
        found |= _texts([mark.args[1:] for mark in marks if mark.name == "parametrize"])
        found |= _texts([value for key, value in vars(module).items() if key.isupper()])
    return {_PREFIXES.get(name, b"") + one for one in found if 2 < len(one) <= MAX_INPUT_BYTES}


def _texts(value: Any) -> set[bytes]:
    if isinstance(value, (str, bytes)):
        return {value.encode("utf-8", "replace") if isinstance(value, str) else value}
    if isinstance(value, dict):
        return _texts([*value.keys(), *value.values()])
    if isinstance(value, (list, tuple, set, frozenset)):
        return set().union(*map(_texts, value))
    return _texts(vars(value)) if hasattr(value, "values") and hasattr(value, "id") else set()


def timed(target: Target) -> Target:
    """Return a target that fails on an input that takes too long."""

    def check(data: bytes) -> None:
        began = process_time()
        target(data)
        assert process_time() - began < SECONDS_PER_INPUT, f"it took {process_time() - began:.1f} s"

    return check


def fuzz(name: str, seconds: int, folder: Path) -> None:
    """Run a target; exits the process."""
    try:
        atheris: Any = import_module("atheris")
    except ImportError:
        print("atheris is not installed. Install the extra: pip install 'tarantula[fuzz]'.", file=sys.stderr)
        sys.exit(2)
    corpus = folder / name
    corpus.mkdir(parents=True, exist_ok=True)
    with atheris.instrument_imports(include=["tarantula"]):
        target = timed(TARGETS[name]())
    for seed in seeds(name):
        (corpus / sha256(seed).hexdigest()[:32]).write_bytes(seed)
    options = {
        "max_total_time": seconds,
        "max_len": MAX_INPUT_BYTES,
        "timeout": HANG_SECONDS,
        "rss_limit_mb": MAX_MEMORY_MB,
        "artifact_prefix": f"{folder}/{name}-",
        "print_final_stats": 1,
    }
    atheris.Setup([sys.argv[0], str(corpus), *(f"-{key}={value}" for key, value in options.items())], target)
    atheris.Fuzz()


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--folder", type=Path, default=Path(".fuzz"))
    parser.add_argument("--file", type=Path)
    chosen = parser.parse_args()
    if chosen.file is not None:
        TARGETS[chosen.target]()(chosen.file.read_bytes())
        return
    fuzz(chosen.target, chosen.seconds, chosen.folder)


if __name__ == "__main__":
    main()
