"""``tarantula stream make``: sources of a few answers."""

from __future__ import annotations

from typing import Annotated

import typer

from tarantula.cli.streams.source_options import key_value_pairs
from tarantula.cli.terminal import console, table, write_json
from tarantula.core.config import Config
from tarantula.core.database import open_database
from tarantula.streams import categories as ready_made
from tarantula.streams.categories.category import form_questions
from tarantula.streams.categories.category import source_from_answers as made
from tarantula.streams.sources import registry
from tarantula.streams.sources.config import parse_source


def make(
    category: Annotated[str, typer.Argument(metavar="CATEGORY", help="Which one, as feed.")],
    answers: Annotated[list[str], typer.Argument(metavar="KEY=ANSWER", help="What it asks for.")],
    name: Annotated[str, typer.Option("--name", help="Words with dots between them; suggested unless told.")] = "",
    owner: Annotated[str, typer.Option("--owner", help="The account whose it is; nobody's unless told.")] = "",
) -> None:
    """Describe a new source by the answers that a ready-made category asks for."""
    config = Config()
    values = made(
        ready_made.category_named(category, config.home / ready_made.FOLDER),
        dict(key_value_pairs(answers, "an answer")),
    )
    source = parse_source({**values, **({"name": name} if name else {})})
    with open_database(config) as database, database.session() as session:
        registry.add(session, source, owner)
    print(f"{source.name} is stored. Read it now with `tarantula stream poll {source.name}`.")


def categories(as_json: Annotated[bool, typer.Option("--json", help="For a program to read.")] = False) -> None:
    """Show the ready-made categories, and what each asks for."""
    known = ready_made.categories(Config().home / ready_made.FOLDER)
    if as_json:
        write_json(
            [
                {
                    "name": one.name,
                    "title": one.title,
                    "asks": [ask.model_dump(mode="json") for ask in form_questions(one)],
                }
                for one in known.values()
            ]
        )
        return
    rows = table("category", "what it is", "asks for")
    for one in known.values():
        rows.add_row(one.name, one.title, "\n".join(f"{ask.key}: {ask.label}" for ask in form_questions(one)))
    console().print(rows)
