"""Visible text of documents, and its differences."""

from __future__ import annotations

import gzip
from itertools import pairwise
from pathlib import Path
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarantula.archive.diff.items import difference_at
from tarantula.archive.diff.pages import (
    MAX_LINE_LENGTH,
    MAX_LINES,
    TextDiff,
    compare_documents,
    compare_lines,
    diff_blocks,
    text_lines,
)
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.store.listings import find_item
from tests.support.monthly_items import BASE, Page, archive

SEQUENCES = st.text("abc", max_size=12)
HTML = "text/html"
QUICK = 20.0
"""Seconds of processor time, far more than pages of these sizes take."""


def longest_common(before: str, after: str) -> int:
    row = [0] * (len(after) + 1)
    for one in before:
        above = row[:]
        for place, other in enumerate(after, 1):
            row[place] = above[place - 1] + 1 if one == other else max(above[place], row[place - 1])
    return row[-1]


@given(SEQUENCES, SEQUENCES, st.integers(0, 30))
def test_blocks_cover_both_sequences(before: str, after: str, most: int) -> None:
    found = list(diff_blocks(before, after, most))
    assert "".join(before[block.before] for block in found) == before
    assert "".join(after[block.after] for block in found) == after
    assert all(before[block.before] == after[block.after] for block in found if block.same)
    assert all(one.same != other.same for one, other in pairwise(found))


@given(SEQUENCES, SEQUENCES)
def test_the_common_part_is_maximal(before: str, after: str) -> None:
    same = sum(len(before[block.before]) for block in diff_blocks(before, after) if block.same)
    assert same == longest_common(before, after)


@given(st.lists(SEQUENCES, max_size=12), st.lists(SEQUENCES, max_size=12))
def test_hunks_contain_all_changes(before: list[str], after: list[str]) -> None:
    lines = [line for hunk in compare_lines(before, after) for line in hunk]
    assert bool(lines) == (before != after)
    for line in lines:
        old = "".join(piece.text for piece in line.pieces if piece.change != "new")
        new = "".join(piece.text for piece in line.pieces if piece.change != "gone")
        assert line.before is None or old == before[line.before - 1]
        assert line.after is None or new == after[line.after - 1]
    seen_before = {line.before for line in lines if line.change in ("gone", "changed")}
    seen_after = {line.after for line in lines if line.change in ("new", "changed")}
    kept_before = [text for number, text in enumerate(before, 1) if number not in seen_before]
    kept_after = [text for number, text in enumerate(after, 1) if number not in seen_after]
    assert kept_before == kept_after


@pytest.mark.parametrize(
    ("body", "media_type", "charset", "lines"),
    [
        (b"<title>T</title><p>a <b>b</b>c<br>d<div> e\n f </div>", HTML, None, ["T", "a bc", "d", "e f"]),
        ("<p>Olá, João".encode("iso-8859-1"), HTML, "iso-8859-1", ["Olá, João"]),
        ('<meta charset="windows-1252"><p>“Olá”'.encode("cp1252"), HTML, None, ["“Olá”"]),
        ("<p>Olá".encode(), HTML, "no-such-charset", ["Olá"]),
        ("\ufeff<p>Olá".encode(), HTML, "iso-8859-1", ["Olá"]),
        (b"<script>var a</script>b<style>c</style><template><p>d</template><!-- e -->f", HTML, None, ["b", "f"]),
        (b"<table><tr><td>1<td>2<tr><td>3</table><ul><li>x<li>y</ul>&amp;", HTML, None, ["1", "2", "3", "x", "y", "&"]),
        (b"<pre>a\n  b</pre>", "application/xhtml+xml", None, ["a b"]),
        (b"one\r\n\r\n two  words\n", "text/plain", None, ["one", "two words"]),
        ('<?xml version="1.0" encoding="iso-8859-1"?><a>é</a>'.encode("latin-1"), "application/rss+xml", None,
         ['<?xml version="1.0" encoding="iso-8859-1"?><a>é</a>']),
        (b"", HTML, None, []),
        (b"\x89PNG", "image/png", None, None),
        (b"x", None, None, None),
    ],
)  # fmt: skip
def test_lines(body: bytes, media_type: str | None, charset: str | None, lines: list[str] | None) -> None:
    assert text_lines(body, media_type, charset) == lines


@given(st.binary(max_size=300), st.sampled_from([HTML, "text/plain", "text/xml"]), st.none() | st.text(max_size=10))
def test_any_bytes_have_lines(body: bytes, media_type: str, charset: str | None) -> None:
    lines = text_lines(body, media_type, charset)
    assert lines is not None
    assert all(line and line == " ".join(line.split()) for line in lines)


def test_words_within_a_line_and_unrelated_lines() -> None:
    (hunk,) = compare_lines(["one two three", "x"], ["one 2 three", "completely other"])
    assert [(line.change, [tuple(piece) for piece in line.pieces]) for line in hunk] == [
        ("changed", [("same", "one "), ("gone", "two"), ("new", "2"), ("same", " three")]),
        ("gone", [("gone", "x")]),
        ("new", [("new", "completely other")]),
    ]


def test_distant_changes_are_separate_hunks() -> None:
    before = [f"line {number}" for number in range(100)]
    after = ["first", *before[1:50], "middle", *before[50:99]]
    hunks = compare_lines(before, after)
    assert [(hunk[0].before, hunk[-1].after) for hunk in hunks] == [(1, 3), (49, 53), (98, None)]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"<p>a" * 100_000, b"<p>b" * 100_000),
        (b"<p>a<p>b" * 30_000, b"<p>b<p>a<p>c" * 30_000),
        (b"x" * 2_000_000, b"y" * 2_000_000),
        (b"<div>" * 100_000 + b"x", b"<b>" * 100_000 + b"y"),
        (b"<table><tr><td>" + b"w" * 100_000 + b"<tr><td>a<td>b" * 5_000, b"<table>"),
        (b"&amp;" * 100_000, b"a &lt;" * 100_000),
        (" ".join(map(str, range(50_000))).encode(), " ".join(map(str, range(50_000, 0, -1))).encode()),
    ],
)
def test_hostile_pages_take_little_time(before: bytes, after: bytes) -> None:
    began = process_time()
    texts = [text_lines(body, HTML, None) or [] for body in (before, after)]
    hunks = compare_lines(*texts)
    assert process_time() - began < QUICK
    assert hunks
    assert max(map(len, texts)) <= MAX_LINES
    assert max(len(line) for text in texts for line in text) <= MAX_LINE_LENGTH


def text_diff(config: Config, database: Database, before: Page, after: Page) -> TextDiff:
    urns = [archive(config, database, month, {f"{BASE}a": page}) for month, page in ((1, before), (2, after))]
    with database.reading() as session:
        items = [find_item(session, urn) for urn in urns]
        _, *documents = difference_at(session, items[0], items[1], f"{BASE}a")
        return compare_documents(session, config.items, *documents)


def changed_texts(diff: TextDiff) -> list[str]:
    return ["".join(piece.text for piece in line.pieces) for hunk in diff.hunks for line in hunk]


def test_compressed_pages_in_different_charsets(sqlite: Database, config: Config) -> None:
    body = "<p>Olá".encode("iso-8859-1")
    packed = gzip.compress(body)
    before = Page(body, "text/html; charset=iso-8859-1", headers=("Content-Encoding: gzip",), raw=packed)
    assert changed_texts(text_diff(config, sqlite, before, Page("<p>Olé"))) == ["Olá", "Olé"]


def test_rendered_pages_are_compared_if_both_are_rendered(sqlite: Database, config: Config) -> None:
    before = Page("<script>1</script>", rendered=b"<p>one thing")
    assert changed_texts(text_diff(config, sqlite, before, Page("<script>2</script>", rendered=b"<p>two thing"))) == [
        "onetwo thing"
    ]


@pytest.mark.parametrize(
    ("before", "after", "note"),
    [
        (Page("a", "image/png"), Page("b", "image/png"), "It is image/png, which is not text."),
        (Page("<p>a"), Page("<p >a"), "Its bytes changed, its text did not."),
        (Page(b"a" * 10_000_001), Page("b"), "It is larger than 10,000,000 bytes: too large to be compared as text."),
        (Page("<p>" * 30_000 + "a"), Page("<p>a\n" * 30_000), "Only its first 20,000 lines were compared."),
    ],
    ids=["image", "same text", "large", "long"],
)
def test_notes_instead_of_a_diff(sqlite: Database, config: Config, before: Page, after: Page, note: str) -> None:
    assert text_diff(config, sqlite, before, after).note == note


def test_a_damaged_file_is_reported_with_its_offset(sqlite: Database, config: Config) -> None:
    urns = [archive(config, sqlite, month, {f"{BASE}a": Page(str(month))}) for month in (1, 2)]
    (path,) = (config.items / urns[0] / "archive").iterdir()
    content = path.read_bytes()
    with sqlite.reading() as session:
        items = [find_item(session, urn) for urn in urns]
        _, before, after = difference_at(session, items[0], items[1], f"{BASE}a")
        assert before.warc_offset is not None
        path.write_bytes(content[: before.warc_offset + 20])
        note = compare_documents(session, config.items, before, after).note
        assert note == f"{path} has no complete record at offset {before.warc_offset}: the file ends there."
        path.unlink()
        note = compare_documents(session, config.items, before, after).note
        assert str(path) in note
        assert note.endswith("No such file or directory.")
        before.warc = None
        assert compare_documents(session, Path("/"), before, after).note == "Its body was not stored."
        session.rollback()
