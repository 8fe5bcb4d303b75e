"""``tarantula withholding``: take URLs down or put them under embargo, lift that, and list them."""

from __future__ import annotations

from typing import Annotated

import typer

from tarantula.cli.nouns import noun_group
from tarantula.cli.terminal import Json, console, local_time, table, write_json
from tarantula.services import withholding
from tarantula.services.context import local_context

app = noun_group("withholding")

Urls = Annotated[list[str], typer.Argument(metavar="URL...", help="The URLs.")]


@app.command()
def add(
    urls: Urls,
    why: Annotated[str, typer.Option("--why", metavar="TEXT", help="The reason, for the record.")],
    until: Annotated[
        str, typer.Option("--until", metavar="TIME", help="End of the embargo; without it, until it is lifted.")
    ] = "",
    as_json: Json = False,
) -> None:
    """Withhold URLs in all items: replay, mirrors, indexes, search and future exports."""
    with local_context() as context:
        made = withholding.withhold(context, urls, why, until)
    if as_json:
        write_json([one.model_dump(mode="json") for one in made])
        return
    for one in made:
        end = f" until {local_time(one.until)}" if one.until else ""
        print(f"{one.url} is withheld{end} in {len(one.items):,} items. Its bytes stay in the WARC files.")
        for path in one.exports:
            print(f"The export {path} was written before and has it, or cannot be checked. Remove it or export again.")


@app.command()
def lift(urls: Urls) -> None:
    """Release withheld URLs."""
    with local_context() as context:
        for one in withholding.release(context, urls):
            print(f"{one.url} is no longer withheld, in {len(one.items):,} items.")


@app.command("apply")
def apply_withheld() -> None:
    """Note embargoes that have ended, and bring mirrors and indexes of this home in line; the daemon does the same."""
    with local_context() as context:
        withholding.apply(context)


@app.command("list")
def list_withheld(
    every: Annotated[bool, typer.Option("--all", help="Also those that are over.")] = False, as_json: Json = False
) -> None:
    """List withheld URLs, newest first."""
    with local_context() as context:
        rows = withholding.list_withholdings(context, lifted=every)
    if as_json:
        write_json([row.model_dump(mode="json") for row in rows])
        return
    drawn = table("url", "since", "until", "by", "lifted", "items", "why", numbers=("items",), whole="url")
    for row in rows:
        cells = (row.url, local_time(row.at), local_time(row.until), row.by, local_time(row.lifted_at))
        drawn.add_row(*cells, f"{len(row.items):,}", row.why)
    console().print(drawn)
