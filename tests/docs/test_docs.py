"""The documentation lists every command, option, setting, stat and signal, and no other."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import tarantula as package
from tarantula import settings, signals
from tarantula.cli.nouns import NOUNS, load_noun, root_command
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.engine.settings import COLLECTION_SETTINGS
from tarantula.publications.config import from_toml
from tarantula.publications.scrapy_settings import FIXED_SETTINGS, INEFFECTIVE_SETTINGS, PROJECT_SETTINGS
from tests.support import documentation
from tests.support.documentation import PAGES, ROOT

SOURCES = sorted((ROOT / "tarantula").rglob("*.py"))
MAKE = re.compile(r"\bmake ((?:[A-Z]+=\S+ )*)([a-z]+)")
OWN_NAME = re.compile(r"\bTARANTULA_[A-Z][A-Z_]*[A-Z]\b")


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


@cache
def tree() -> dict[str, Any]:
    """Return all commands by the words after ``tarantula``; the empty key is the program itself."""
    known: dict[str, Any] = {"": root_command()}
    for noun in NOUNS:
        known |= dict(verbs(noun, load_noun(noun)))
    return known


def verbs(path: str, found: Any) -> Iterator[tuple[str, Any]]:
    """Yield the verbs of a command, or the command itself."""
    within = getattr(found, "commands", None)
    if not within:
        yield path, found
        return
    for verb, one in within.items():
        yield from verbs(f"{path} {verb}", one)


def options(path: str) -> set[str]:
    parameters = [one for one in tree()[path].params if one.param_type_name == "option" and not one.hidden]
    return {flag for one in parameters for flag in (*one.opts, *one.secondary_opts)} - {"--help"}


def split_command(words: list[str]) -> tuple[str, list[str]]:
    """Return the command that some words call, and the remaining words."""
    for length in (3, 2, 1):
        if (path := " ".join(words[:length])) in tree():
            return path, words[length:]
    assert not words or words[0].startswith("-") or words[0] in NOUNS, f"there is no command {words[0]!r}"
    return "", words


def test_the_tree_of_commands_is_not_empty() -> None:
    assert {"", "publication add", "crawl", "why"} < tree().keys()
    assert "--depth" in options("publication add")


@pytest.mark.parametrize("path", tree())
def test_every_command_has_a_section_with_its_options_and_no_others(path: str) -> None:
    text = documentation.read("commands.md")
    name = f"`tarantula {path}`" if path else "`tarantula`"
    (heading,) = [heading for heading in documentation.headings(text) if name in heading]
    together = [one.removeprefix("tarantula").strip() for one in documentation.spans(heading)]
    documented = [
        flag for row in documentation.rows(documentation.section(text, name)) for flag in documentation.spans(row[0])
    ]
    assert path in together
    assert sorted(documented) == sorted(set().union(*(options(one) for one in together)))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_command_in_a_block_can_be_parsed(page: Path) -> None:
    for words in documentation.commands(text_of(page), "tarantula"):
        path, arguments = split_command(words)
        if path:
            tree()[path].make_context(path, arguments)
        else:
            assert set(arguments) <= options("")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_mentioned_command_exists(page: Path) -> None:
    for span in documentation.spans(text_of(page)):
        words = span.split()
        if words[0] != "tarantula" or words[1:2] == ["COMMAND"]:
            continue
        path, rest = split_command(words[1:])
        flags = {word for word in rest if word.startswith("-")} - {"--help", "-"}
        assert flags <= (options(path) if path else options("")), span


def test_there_are_commands_to_check() -> None:
    shown = [words for page in PAGES for words in documentation.commands(text_of(page), "tarantula")]
    assert ["crawl", "fcul"] in shown
    with pytest.raises(AssertionError, match="no command"):
        split_command(["nothing"])


def test_every_mentioned_make_target_exists() -> None:
    targets = set(re.findall(r"^([a-z]+):", text_of(ROOT / "Makefile"), re.MULTILINE))
    for page in PAGES:
        text = text_of(page)
        lines = [line for block in documentation.blocks(text, "sh") for line in block.splitlines()]
        called = {target for code in (*lines, *documentation.spans(text)) for _, target in MAKE.findall(code)}
        assert called <= targets, page


def called_stats() -> Iterator[str]:
    """Yield the stats in the code, without parts that are filled in at run time."""
    for path in SOURCES:
        for call in ast.walk(ast.parse(text_of(path))):
            if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.args):
                continue
            if call.func.attr in ("count", "inc_value", "set_value", "max_value", "min_value"):
                parts = call.args[0].values if isinstance(call.args[0], ast.JoinedStr) else [call.args[0]]
                literal = "".join(str(part.value) for part in parts if isinstance(part, ast.Constant))
                if re.match(r"[a-z]+/[a-z_]+", literal):
                    yield literal


def test_every_stat_is_listed_and_no_other() -> None:
    documented = {re.sub(r"[A-Z]+$", "", stat) for stat in documentation.first_column(documentation.read("stats.md"))}
    assert "document/state_count/" in documented
    assert documented == set(called_stats())


def test_every_variable_and_setting_of_ours_is_listed_and_no_other() -> None:
    documented = set(OWN_NAME.findall(documentation.read("settings.md")))
    used = {name for path in SOURCES for name in OWN_NAME.findall(text_of(path))}
    used |= {f"TARANTULA_{field.upper()}" for field in Config.model_fields}
    assert used <= documented
    for name in documented - used:
        assert any(name in text_of(path) for path in (ROOT / "tests").rglob("*.py") if path != Path(__file__))


def test_every_scrapy_setting_that_we_set_is_listed_and_no_other() -> None:
    page = documentation.read("settings.md")
    of_project = documentation.first_column(documentation.section(page, "Scrapy settings, and why"))
    of_collection = documentation.first_column(documentation.section(page, "Settings of a collection"))
    assert set(of_project) == {name for name in vars(settings) if name.isupper()}
    assert set(of_collection) == COLLECTION_SETTINGS.keys()
    rejected = {*INEFFECTIVE_SETTINGS, *FIXED_SETTINGS, *PROJECT_SETTINGS}
    assert all(f"`{name}{'*' if name.endswith('_') else ''}`" in page for name in rejected)


def test_every_signal_is_listed() -> None:
    ours = {f"tarantula.signals.{name}" for name, value in vars(signals).items() if type(value) is object}
    assert ours
    assert set(documentation.first_column(documentation.section(documentation.read("extending.md"), "Signals"))) == ours


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_has_a_target(page: Path) -> None:
    for link in documentation.links(text_of(page)):
        if "://" in link:
            continue
        file, _, anchor = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        assert target.is_file(), link
        assert not anchor or anchor in documentation.anchors(text_of(target)), link


def test_every_picture_is_shown_on_a_page() -> None:
    shown = {name for page in documentation.PAGES for name in re.findall(r"pictures/([\w.-]+)\)", text_of(page))}
    assert shown == {path.name for path in (documentation.DOCS / "pictures").iterdir()}


def test_every_page_is_linked_from_the_index() -> None:
    linked = {link.partition("#")[0] for link in documentation.links(documentation.read("index.md"))}
    assert {page.name for page in documentation.DOCS.glob("*.md")} - {"index.md"} == linked


def test_every_folder_of_the_code_is_listed_and_no_other() -> None:
    listed = re.findall(
        r"`(\w+)/`", documentation.section((ROOT / "CONTRIBUTING.md").read_text(), "How the code is laid out")
    )
    folders = {path.parent.name for path in (ROOT / "tarantula").glob("*/__init__.py")}
    assert sorted(folders) == sorted(set(listed) - {"tarantula"})


def test_the_readme_opens_with_two_commands() -> None:
    text = text_of(ROOT / "README.md")
    (first, *_) = documentation.blocks(text, "sh")
    assert first.split("\n")[:2] == ["make demo", "make test"]


def test_the_changelog_has_this_version() -> None:
    headings = documentation.headings(text_of(ROOT / "CHANGELOG.md"))
    assert package.__version__ in [heading.split()[0] for heading in headings]


def test_statements_run(sqlite: Database) -> None:
    statements = [block for page in PAGES for block in documentation.blocks(text_of(page), "sql")]
    assert statements
    with sqlite.reading() as session:
        for statement in statements:
            session.connection().exec_driver_sql(statement)


def test_publications_in_toml_can_be_imported() -> None:
    (block,) = documentation.blocks(documentation.read("publications.md"), "toml")
    (config,) = from_toml(block)
    assert (config.name, config.max_duration) == ("fcul", 864_000)


def test_examples_in_python_can_be_read_and_are_those_of_the_examples() -> None:
    first, *others = documentation.blocks(documentation.read("extending.md"), "python")
    assert first in text_of(ROOT / "examples" / "print_pages.py")
    for block in others:
        ast.parse(block)
    examples = "".join(text_of(path) for path in (ROOT / "examples" / "extensions").glob("*.py"))
    pages = sorted(documentation.DOCS.glob("add-*.md"))
    assert len(pages) == 6
    for page in pages:
        assert documentation.blocks(text_of(page), "python")[0] in examples
