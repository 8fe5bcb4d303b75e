"""``tarantula revisit estimators``: by how much the estimators of rates miss."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tarantula.cli.revisit_options_part_needing import require_numeric_packages
from tarantula.cli.terminal import console, table, write_json

if TYPE_CHECKING:
    from tarantula.revisit.rates.estimators_part_bias import EstimatorError


def estimators(
    visits: Annotated[int, typer.Option("--visits", min=1, max=1000, help="How many, at even gaps.")] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="For a program to read.")] = False,
) -> None:
    """Show by how much the estimators of rates miss, counted over all that visits may find."""
    with require_numeric_packages():
        from tarantula.revisit.rates.estimators_part_bias import estimator_errors
    rows = estimator_errors(visits=visits)
    if as_json:
        write_json([row.as_dict() for row in rows])
        return
    numbers = ("Cho's", "most likely", "with a prior", "with a wrong prior")
    title = f"Bias and error (in percent of the rate) after {visits} visits"
    drawn = table("changes a gap", *numbers, numbers=("changes a gap", *numbers), title=title)
    for row in rows:
        drawn.add_row(f"{row.changes:g}", *map(miss_text, row.all))
    console().print(drawn)


def miss_text(miss: EstimatorError) -> str:
    """Write a bias, an error, and how often there is no bound."""
    endless = f", {100 * miss.infinite:.1f} % infinite" if miss.infinite > 0.0005 else ""
    return f"{100 * miss.bias:+.1f} ± {100 * miss.error:.0f}{endless}"
