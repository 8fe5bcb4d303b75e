"""Test collections are read in their own formats."""

from __future__ import annotations

from pathlib import Path

from tools.relevance import Record, judgements, ndcg, records
from tools.smart import lisa, npl, time, written


def put(folder: Path, **texts: str) -> Path:
    for name, text in texts.items():
        (folder / name.replace("__", ".").replace("_", "-")).write_text(text, encoding="utf-8")
    return folder


def test_npl_lisa_and_time_are_converted_to_smart(tmp_path: Path) -> None:
    stars = "*" * 44
    put(
        tmp_path,
        doc_text="1\nfast\nwings\n   /\n2\nslow\n   /\n",
        query_text="1\nWINGS\n/\n",
        rlv_ass="1\n  1 2\n   /\n",
    )
    put(
        tmp_path,
        LISA0__001=f"Document    7\nA TITLE\nOF TWO LINES.\n \nITS TEXT.\n{stars}\n",
        LISA__QUE="1\nWHAT IS IT #\n",
    )
    put(
        tmp_path, LISA__REL="Query 1\n1 Relevant Refs:\n7 -1\n\n", TIME__ALL="*TEXT 017 01/04/63\n\nNASSAU .\n\n*STOP\n"
    )
    put(tmp_path, TIME__QUE="*FIND     1\n\n NASSAU\n\n*STOP\n", TIME__REL="1  1\n")
    for name, reader, document, query, judged in (
        ("npl", npl, Record(1, "", "fast wings"), Record(1, "", "WINGS"), {1: {1: 4.0, 2: 4.0}}),
        ("lisa", lisa, Record(7, "A TITLE OF TWO LINES.", "ITS TEXT."), Record(1, "", "WHAT IS IT"), {1: {7: 4.0}}),
        ("time", time, Record(1, "", "NASSAU ."), Record(1, "", "NASSAU"), {1: {1: 4.0}}),
    ):
        written(reader(tmp_path), tmp_path, name)
        first = next(records(tmp_path / f"{name}.all"))
        assert first._replace(text=" ".join(first.text.split())) == document
        assert next(records(tmp_path / f"{name}.qry")) == query
        assert judgements(tmp_path / f"{name}.rel") == judged


def test_judgements_as_grades_lists_and_trec(tmp_path: Path) -> None:
    put(tmp_path, cranqrel="1 184 2\n1 29 1\n1 7 -1\n", cisi="1 28 0 0.000000\n", med="1 0 13 1\n")
    assert judgements(tmp_path / "cranqrel") == {1: {184: 3.0, 29: 4.0, 7: 0.0}}
    assert judgements(tmp_path / "cisi") == {1: {28: 1.0}}
    assert judgements(tmp_path / "med") == {1: {13: 4.0}}


def test_a_perfect_ranking_has_ndcg_one() -> None:
    assert ndcg([1, 2], {1: 4.0, 2: 1.0}) == 1.0
    assert 0.0 < ndcg([2, 1], {1: 4.0, 2: 1.0}) < 1.0
    assert ndcg([3], {1: 4.0}) == 0.0
