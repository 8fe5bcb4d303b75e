"""Relevance of search results on a test collection in SMART format (Cranfield, CISI): nDCG at ten.

    python -m tools.relevance cran.all.1400 cran.qry cranqrel

The same collection is searched by bm25s with k1 = 1.2 and b = 0.75, for comparison. `tools.smart` makes files of this
format from collections that have others.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterator
from math import log2
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import bm25s
import Stemmer

from tarantula.search.index.storage import SearchIndex
from tarantula.search.queries.builder import MatchMode, QueryBuilder
from tarantula.search.queries.parser import ParsedQuery, QueryWords
from tarantula.search.texts.words import STEMMERS, exact_analyzer
from tests.support.index_entries import entry
from tools.smart import text_of

TOP = 10
_MARK = re.compile(r"^\.([A-Z])(?:\s+(\d+))?\s*$")

Search = Callable[[str], list[int]]
"""Returns the numbers of the best documents for a query."""
Judgements = dict[int, dict[int, float]]
"""Relevance by query and document."""


class Record(NamedTuple):
    """A document or a query."""

    number: int
    title: str
    text: str


def records(path: Path) -> Iterator[Record]:
    """Yield the records of a file: ``.I`` is the number, ``.T`` begins the title, ``.W`` the text."""
    number, part, parts = 0, "", dict[str, list[str]]()
    for line in [*text_of(path).splitlines(), ".I 0"]:
        mark = _MARK.match(line)
        if mark is None:
            parts.setdefault(part, []).append(line)
        elif mark[1] == "I":
            if number:
                yield Record(number, " ".join(parts.get("T", [])), " ".join(parts.get("W", [])))
            number, part, parts = int(mark[2] or 0), "", {}
        else:
            part = mark[1]


def judgements(path: Path) -> Judgements:
    """Return the judgements: Cranfield grades from 1, the best, to 4; CISI and MED (as TREC) list the relevant ones."""
    judged: Judgements = {}
    for line in filter(str.strip, path.read_text().splitlines()):
        query, document, *grade = line.split()
        if document == "0":
            document, *grade = grade[:1]
        code = float(grade[0]) if grade else 1.0
        judged.setdefault(int(query), {})[int(document)] = 5.0 - code if code > 0 else float(code == 0)
    return judged


def ndcg(found: list[int], judged: dict[int, float]) -> float:
    """Return the nDCG of the first ten results."""
    best = sum(gain / log2(place + 2) for place, gain in enumerate(sorted(judged.values(), reverse=True)[:TOP]))
    reached = sum(judged.get(number, 0.0) / log2(place + 2) for place, number in enumerate(found[:TOP]))
    return reached / best if best else 0.0


def with_tarantula(documents: list[Record], folder: Path, language: str) -> Search:
    """Index a collection like pages, and search for any of the words."""
    index = SearchIndex(folder)
    index.put(
        entry(document.number, document.text, title=document.title, language=language, path="")
        for document in documents
    )
    index.commit(0)
    searcher = index.searcher()
    asking = QueryBuilder(index.schema, searcher)

    def search(text: str) -> list[int]:
        asked = ParsedQuery(required=[[QueryWords(word)] for word in exact_analyzer().analyze(text)])
        hits = searcher.search(asking.query(asked, MatchMode.ANY), TOP, count=False).hits
        return [int(number or 0) for number in searcher.fast_field_values("number", [where for _, where in hits])]

    return search


def with_bm25s(documents: list[Record], language: str, stem: bool) -> Search:
    """Search with bm25s and its stop words, with or without Snowball stemming."""
    stemmer = Stemmer.Stemmer(STEMMERS[language]) if stem else None
    texts = [f"{document.title} {document.text}" for document in documents]
    retriever = bm25s.BM25(k1=1.2, b=0.75)
    retriever.index(
        bm25s.tokenize(texts, stopwords=language, stemmer=stemmer, show_progress=False), show_progress=False
    )

    def search(text: str) -> list[int]:
        tokens = bm25s.tokenize(text, stopwords=language, stemmer=stemmer, show_progress=False)
        found, _ = retriever.retrieve(tokens, k=TOP, show_progress=False)
        return [documents[place].number for place in found[0]]

    return search


def mean_ndcg(search: Search, queries: list[Record], judged: Judgements) -> float:
    """Return the mean over the judged queries, which are known by their places in the file or their numbers."""
    numbers = {query.number for query in queries}
    by_number = judged.keys() <= numbers
    asked = [(query.number if by_number else place, query) for place, query in enumerate(queries, 1)]
    values = [ndcg(search(query.text), judged[number]) for number, query in asked if number in judged]
    return sum(values) / len(values)


def main() -> None:
    """Compare the searches and print their nDCG."""
    parser = argparse.ArgumentParser(prog="python -m tools.relevance", description=__doc__.partition("\n")[0])
    for name in ("documents", "queries", "judgements"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--language", choices=STEMMERS, default="en")
    given = parser.parse_args()
    documents, queries, judged = (
        list(records(given.documents)),
        list(records(given.queries)),
        judgements(given.judgements),
    )
    with TemporaryDirectory() as folder:
        figures = {
            "tarantula": mean_ndcg(with_tarantula(documents, Path(folder), given.language), queries, judged),
            "bm25s": mean_ndcg(with_bm25s(documents, given.language, stem=False), queries, judged),
            "bm25s with stems": mean_ndcg(with_bm25s(documents, given.language, stem=True), queries, judged),
        }
    json.dump({"documents": len(documents), "queries": len(judged), **figures}, sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    main()
