"""``tarantula revisit``: plan, estimators, simulate, figures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tarantula.cli import revisit_options as options
from tarantula.cli.nouns import noun_group
from tarantula.cli.revisit_options_part_needing import require_numeric_packages
from tarantula.cli.revisit_part_revisit_estimators import estimators
from tarantula.cli.revisit_part_revisit_plan import plan
from tarantula.cli.terminal import console, progress_bar, table, write_json

if TYPE_CHECKING:
    from tarantula.revisit.experiments.experiment import ExperimentResult

app = noun_group("revisit")
app.command()(plan)
app.command()(estimators)


@app.callback()
def revisit() -> None:
    """Take the verbs, however many there are."""


@app.command()
@options.with_experiment()
def simulate(
    policy: Annotated[
        str, typer.Option("--policy", help="psp, mp2, m-wolf, slotted, lasting, aged or uniform.")
    ] = "psp",
    as_json: Annotated[bool, typer.Option("--json", help="For a program to read.")] = False,
    **typed: Any,
) -> None:
    """Simulate a policy on a web that does not exist, and hold what it does against the bounds."""
    with require_numeric_packages():
        from tarantula.revisit.experiments import experiment as experiments

        experiment = options.read_experiment(**typed)
        with progress_bar("Planning, then simulating") as count:
            found = experiments.run_experiment(
                experiment, policy, lambda moment: count(int(moment.seconds), int(experiment.horizon))
            )
    if as_json:
        write_json({"policy": policy, "experiment": experiment.as_json(), **found.as_json()})
    else:
        _draw(policy, found)


@app.command()
@options.with_experiment("reading")
def figures(
    thetas: Annotated[str, typer.Option("--thetas", metavar="'A;B'", help="What is varied.")] = "0;0.5;1;1.5;2",
    output: Annotated[
        Path, typer.Option("--output", metavar="DIR", help="Where revisit.md and its pictures are.")
    ] = Path("docs"),
    **typed: Any,
) -> None:
    """Draw how stale every policy leaves a web, and write the numbers into revisit.md."""
    with require_numeric_packages():
        from tarantula.revisit.experiments import figures_part_figures_page

        experiment, varied = options.read_experiment(**typed), options.increasing_numbers(thetas, "--thetas")
        done = 0
        with progress_bar("Measuring") as count:

            def tell() -> None:
                nonlocal done
                done += 1
                count(done, figures_part_figures_page.progress_steps(varied))

            for path in figures_part_figures_page.write_figures(output, experiment, varied, tell):
                print(f"{path} is written.")


def _draw(policy: str, found: ExperimentResult) -> None:
    outcome = found.outcome
    stale = table("", "staleness", numbers=("staleness",))
    stale.add_row(policy, f"{outcome.staleness:.5f}")
    stale.add_row("expected of these visits", f"{outcome.expected:.5f}")
    stale.add_row("standard error", f"{outcome.error:.5f}")
    for name, bound in found.bounds.items():
        stale.add_row(name, f"{bound:.5f}")
    visits = table("", "visits", numbers=("visits",))
    visits.add_row("planned", f"{outcome.planned:,}")
    visits.add_row("made", f"{outcome.visits:,}")
    visits.add_row("found a change", f"{outcome.changed:,}")
    visits.add_row("broke politeness", f"{outcome.breaches:,}")
    screen = console()
    for drawn in (stale, visits):
        screen.print(drawn)
        screen.print()
    print(
        f"Visits were {outcome.late:.1f} s late on average, {outcome.latest:.1f} s at most. "
        f"Planning took {found.planning:.1f} s, simulating {found.simulating:.1f} s."
    )
