"""Convert test collections in other formats to SMART format, which `tools.relevance` reads.

    python -m tools.smart npl FOLDER      doc-text, query-text, rlv-ass
    python -m tools.smart lisa FOLDER     LISA0.001 and those that follow it, LISA.QUE, LISA.REL
    python -m tools.smart time FOLDER     TIME.ALL, TIME.QUE, TIME.REL
    python -m tools.smart artigos FOLDER  ARTIGOS.all, ARTIGOS_KEYS.txt and the papers that they name

The results are written to the same folder: NAME.all, NAME.qry, NAME.rel.
"""

from __future__ import annotations

import argparse
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

FEWEST, MOST = 5, 100
"""Range of papers with a keyword that makes it a query: with fewer, chance decides; with more, it is too general."""

_LISTED = re.compile(r"^\s*(\d+)\s*\n(.*?)^\s*/\s*$", re.DOTALL | re.MULTILINE)
_CAPITALS = re.compile(r"[^a-z,]+")


class Collection(NamedTuple):
    """Documents as number, title and text; queries as number and text; relevant documents by query."""

    documents: list[tuple[int, str, str]]
    questions: list[tuple[int, str]]
    answers: list[tuple[int, int]]


def npl(folder: Path) -> Collection:
    """Read records of a number on a line, a text, and a slash."""
    documents, questions, answers = (_listed(folder / name) for name in ("doc-text", "query-text", "rlv-ass"))
    return Collection([(number, "", text) for number, text in documents], list(questions), list(_pairs(answers)))


def lisa(folder: Path) -> Collection:
    """Read titles, empty lines and texts between lines of asterisks."""
    text = "".join(text_of(path) for path in sorted(folder.glob("LISA[0-9].[0-9][0-9][0-9]")))
    found = re.findall(r"^ *Document +(\d+)\s*\n(.*?)\n *\n(.*?)^\*{20,}", text, re.DOTALL | re.MULTILINE)
    questions = re.findall(r"^ *(\d+)\s*\n([^#]*)#", text_of(folder / "LISA.QUE"), re.MULTILINE)
    answers = re.findall(r"Query +(\d+)\s+\d+ Relevant Refs:([^-]*)-1", text_of(folder / "LISA.REL"))
    return Collection(
        [(int(number), " ".join(title.split()), main) for number, title, main in found],
        _numbered(questions),
        list(_pairs(_numbered(answers))),
    )


def time(folder: Path) -> Collection:
    """Read articles, which are numbered by their places in the file."""
    articles = re.findall(r"^\*TEXT [^\n]*\n([^*]*)", text_of(folder / "TIME.ALL"), re.MULTILINE)
    questions = re.findall(r"^\*FIND +(\d+)([^*]*)", text_of(folder / "TIME.QUE"), re.MULTILINE)
    answers = re.findall(r"^ *(\d+) +(.*)$", text_of(folder / "TIME.REL"), re.MULTILINE)
    return Collection(
        [(place, "", article) for place, article in enumerate(articles, 1)],
        _numbered(questions),
        list(_pairs(_numbered(answers))),
    )


def artigos(folder: Path) -> Collection:
    """Read Portuguese papers; the papers with a keyword, in any spelling, are the relevant ones of its query."""
    numbers = {
        name: int(number) for number, name in re.findall(r"\.I (\d+) \.W (\S+)", text_of(folder / "ARTIGOS.all"))
    }
    documents = [(number, *_paper(text_of(folder / f"{name}.txt"))) for name, number in numbers.items()]
    papers: dict[str, set[int]] = {}
    spelt: dict[str, Counter[str]] = {}
    for name, given in re.findall(r"^(\S+?);(.*)$", text_of(folder / "ARTIGOS_KEYS.txt"), re.MULTILINE):
        for keyword in {word.strip() for word in given.lower().replace("_", " ").split(",")} - {""}:
            papers.setdefault(_folded(keyword), set()).add(numbers[name])
            spelt.setdefault(_folded(keyword), Counter())[keyword] += 1
    asked = sorted(word for word, found in papers.items() if FEWEST <= len(found) <= MOST and word.isascii())
    asked = [word for word in asked if "?" not in word]
    return Collection(
        documents,
        [
            (number, max(spelt[word], key=lambda one: (not one.isascii(), spelt[word][one])))
            for number, word in _counted(asked)
        ],
        [(number, paper) for number, word in _counted(asked) for paper in sorted(papers[word])],
    )


def _paper(text: str) -> tuple[str, str]:
    """Return the title of a paper, its first lines in capitals, and the rest."""
    lines = text.replace("_", " ").replace("\0", "").strip().split("\n")
    title = next((place for place, line in enumerate(lines[1:4], 1) if not _CAPITALS.fullmatch(line)), 4)
    return " ".join(lines[:title]), "\n".join(line for line in lines[title:] if not line.startswith("."))


def _folded(text: str) -> str:
    return "".join(letter for letter in unicodedata.normalize("NFD", text) if not unicodedata.combining(letter))


def _counted(words: list[str]) -> Iterator[tuple[int, str]]:
    yield from enumerate(words, 1)


def _listed(path: Path) -> Iterator[tuple[int, str]]:
    yield from _numbered(_LISTED.findall(text_of(path)))


def _numbered(found: Iterable[tuple[str, str]]) -> list[tuple[int, str]]:
    return [(int(number), text.strip()) for number, text in found]


def _pairs(answers: Iterable[tuple[int, str]]) -> Iterator[tuple[int, int]]:
    yield from ((question, int(document)) for question, documents in answers for document in documents.split())


def text_of(path: Path) -> str:
    """Return the text of a file in UTF-8 or Latin-1."""
    found = path.read_bytes()
    try:
        text = found.decode()
    except UnicodeDecodeError:
        text = found.decode("latin-1")
    return text.replace("\r\n", "\n")


def written(collection: Collection, folder: Path, name: str) -> None:
    """Write a collection in SMART format."""
    files = {
        "all": (f".I {number}\n.T\n{title}\n.W\n{text}\n" for number, title, text in collection.documents),
        "qry": (f".I {number}\n.W\n{text}\n" for number, text in collection.questions),
        "rel": (f"{question} {document}\n" for question, document in collection.answers),
    }
    for ending, lines in files.items():
        (folder / f"{name}.{ending}").write_text("".join(lines), encoding="utf-8")


READERS: dict[str, Callable[[Path], Collection]] = {"npl": npl, "lisa": lisa, "time": time, "artigos": artigos}


def main() -> None:
    """Convert a collection."""
    parser = argparse.ArgumentParser(prog="python -m tools.smart", description=__doc__.partition("\n")[0])
    parser.add_argument("name", choices=READERS)
    parser.add_argument("folder", type=Path)
    given = parser.parse_args()
    written(READERS[given.name](given.folder), given.folder, given.name)


if __name__ == "__main__":
    main()
