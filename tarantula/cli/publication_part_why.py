"""``tarantula why``."""

from __future__ import annotations

from typing import Annotated

import typer

from tarantula.cli.terminal import write_json
from tarantula.core.database import open_database
from tarantula.core.errors import TarantulaError
from tarantula.links.link import LinkKind
from tarantula.publications import registry
from tarantula.publications.fields import check_type
from tarantula.publications.scope_part_scopes import scope_of


def why(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The publication.")],
    url: Annotated[str, typer.Argument(metavar="URL", help="What is asked about.")],
    mime: Annotated[str | None, typer.Option("--type", metavar="MIME", help="Suppose that it is of this type.")] = None,
    size: Annotated[int | None, typer.Option("--size", min=0, help="Suppose that it has so many bytes.")] = None,
    depth: Annotated[int, typer.Option("--depth", min=0, help="Suppose that it is so many links away.")] = 1,
    requisite: Annotated[
        bool, typer.Option("--requisite", help="Suppose that a page needs it: an image, a style.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="For a program to read.")] = False,
) -> None:
    """Say whether a URL belongs to a publication, and which rule decided."""
    if mime is not None:
        _check(mime)
    with open_database() as database, database.reading() as session:
        publication = registry.get_publication(session, name)
        scope = scope_of(session, registry.config_of(publication), publication.id)
    kind = LinkKind.REQUISITE if requisite else LinkKind.NAVIGATION
    verdict = scope.explain(url, depth=depth, kind=kind, media_type=mime, size=size)
    if as_json:
        write_json(verdict._asdict())
    else:
        print(f"{'accepted' if verdict.accepted else 'refused'} by {verdict.rule}: {verdict.reason}")


def _check(mime: str) -> None:
    try:
        check_type(mime)
    except ValueError as error:
        raise TarantulaError(str(error)) from error
