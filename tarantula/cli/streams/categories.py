"""``tarantula stream make`` and ``categories``: sources from ready-made categories."""

from __future__ import annotations

from typing import Annotated

import typer

from tarantula.cli.streams.source_options import key_value_pairs
from tarantula.cli.terminal import Json, console, table, write_json
from tarantula.core.config import Config
from tarantula.services.context import local_context
from tarantula.services.streams.sources import add_source
from tarantula.streams import categories as ready_made
from tarantula.streams.categories.category import form_questions, source_from_answers


def make(
    category: Annotated[str, typer.Argument(metavar="CATEGORY", help="The category, as feed.")],
    answers: Annotated[list[str], typer.Argument(metavar="KEY=ANSWER", help="Answers to its questions.")],
    name: Annotated[
        str, typer.Option("--name", help="Words separated by dots; default suggested by the category.")
    ] = "",
    owner: Annotated[str, typer.Option("--owner", help="The account that owns it; default none.")] = "",
) -> None:
    """Create a source from the answers to the questions of a ready-made category."""
    chosen = ready_made.category_named(category, Config().home / ready_made.FOLDER)
    fields = source_from_answers(chosen, dict(key_value_pairs(answers, "an answer")))
    with local_context() as context:
        stored = add_source(context, {**fields, **({"name": name} if name else {})}, owner)
    print(f"{stored} is stored. Read it now with `tarantula stream poll {stored}`.")


def categories(as_json: Json = False) -> None:
    """List the ready-made categories and the questions of each."""
    known = ready_made.categories(Config().home / ready_made.FOLDER)
    if as_json:
        write_json(
            [
                {
                    "name": category.name,
                    "title": category.title,
                    "asks": [question.model_dump(mode="json") for question in form_questions(category)],
                }
                for category in known.values()
            ]
        )
        return
    drawn = table("category", "title", "questions", lines=True)
    for category in known.values():
        questions = "\n".join(f"{question.key}: {question.label}" for question in form_questions(category))
        drawn.add_row(category.name, category.title, questions)
    console().print(drawn)
