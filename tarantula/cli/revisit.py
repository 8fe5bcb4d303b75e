"""``tarantula revisit``: plan visits, simulate policies, and draw the results."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from rich.table import Table

from tarantula.cli.nouns import noun_group
from tarantula.cli.terminal import Json, console, progress_bar, table, write_json
from tarantula.core.errors import TarantulaError
from tarantula.core.times import format_duration, parse_duration
from tarantula.services.context import local_context

if TYPE_CHECKING:
    from tarantula.freshness.plan import VisitPlanSummary
    from tarantula.revisit.changes import ChangeLaw
    from tarantula.revisit.experiments.experiment import Experiment, ExperimentResult, ValueRange
    from tarantula.revisit.rates.estimators import EstimatorError

UNIT_SECONDS = {"second": 1.0, "minute": 60.0, "hour": 3600.0, "day": 86_400.0, "week": 604_800.0}


Command = Callable[..., None]


class ExperimentOption(NamedTuple):
    """A command-line option of an experiment and its default."""

    flag: str
    default: int | float | str
    help: str
    metavar: str | None = None


EXPERIMENT_OPTIONS = {
    "documents": ExperimentOption("--documents", 1_000_000, "Number of documents."),
    "servers": ExperimentOption("--servers", 2_000, "Number of servers."),
    "theta": ExperimentOption("--theta", 1.0, "θ of Zipf's law for server sizes; 0 makes all equal."),
    "rates": ExperimentOption("--lambda", "0.01:1", "Range of change rates.", "LOW:HIGH"),
    "unit": ExperimentOption("--lambda-unit", "hour", "Changes per second, minute, hour, day or week."),
    "rate_theta": ExperimentOption("--lambda-theta", 0.0, "θ of Zipf's law for the rates; 0 is uniform."),
    "weights": ExperimentOption("--weights", "equal", "Weights of documents: equal, zipf, or zipf:θ."),
    "mixture": ExperimentOption(
        "--mixture", "poisson", "Shares of the change laws poisson, pareto, quasi-deterministic.", "'A=0.6;B=0.4'"
    ),
    "sizes": ExperimentOption("--sizes", "1", "Document sizes, uniform.", "LOW:HIGH"),
    "horizon": ExperimentOption("--horizon", "24h", "Simulated time: 24h, 7d, or seconds."),
    "politeness": ExperimentOption("--politeness", 15.0, "Seconds between two requests to a server."),
    "crawlers": ExperimentOption("--crawlers", 10, "Number of crawlers."),
    "speed": ExperimentOption("--rate", "10", "Documents of size 1 per second and crawler.", "LOW:HIGH"),
    "server_speed": ExperimentOption("--server-rate", "inf", "The same for a server.", "LOW:HIGH"),
    "reading": ExperimentOption("--reading", "fresh", "fresh: all documents start fresh; steady: steady state."),
    "seed": ExperimentOption("--seed", 0, "Random seed of the web and its changes."),
}


def with_experiment(*leaving_out: str) -> Callable[[Command], Command]:
    """Decorate a command that ends in ``**typed``: add the options of an experiment."""

    def decorate(command: Command) -> Command:
        signature = inspect.signature(command, eval_str=True)
        own = [one for one in signature.parameters.values() if one.kind is not one.VAR_KEYWORD]
        choices = [_parameter(name, choice) for name, choice in EXPERIMENT_OPTIONS.items() if name not in leaving_out]
        keyword_only = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in own]
        command.__signature__ = signature.replace(parameters=[*choices, *keyword_only])  # type: ignore[attr-defined]
        return command

    return decorate


def read_experiment(**typed: Any) -> Experiment:
    """Return the experiment of the typed options; options that the command leaves out have their defaults."""
    typed = {name: choice.default for name, choice in EXPERIMENT_OPTIONS.items()} | typed
    from tarantula.revisit.experiments.experiment import Experiment, SyntheticWeb
    from tarantula.revisit.model import ModelReading

    if typed["unit"] not in UNIT_SECONDS:
        raise TarantulaError(
            "There is no unit {unit}. There are: {units}.", unit=typed["unit"], units=", ".join(UNIT_SECONDS)
        )
    if typed["reading"] not in list(ModelReading):
        raise TarantulaError(
            "There is no reading {reading}. There are: {readings}.",
            reading=typed["reading"],
            readings=", ".join(ModelReading),
        )
    rates, unit = _value_range(typed["rates"], "--lambda"), UNIT_SECONDS[typed["unit"]]
    counts = {name: typed[name] for name in ("documents", "servers", "theta", "rate_theta", "seed")}
    world = SyntheticWeb(low=rates.low / unit, high=rates.high / unit, weight_theta=_theta(typed["weights"]), **counts)
    return Experiment(
        world,
        _duration_seconds(typed["horizon"]),
        typed["politeness"],
        typed["crawlers"],
        _value_range(typed["speed"], "--rate"),
        _value_range(typed["server_speed"], "--server-rate"),
        _value_range(typed["sizes"], "--sizes"),
        _shares(typed["mixture"]),
        ModelReading(typed["reading"]),
    )


def increasing_numbers(text: str, flag: str) -> list[float]:
    """Parse ``0;0.5;1``: at least two increasing numbers."""
    try:
        found = [float(part) for part in text.split(";") if part.strip()]
    except ValueError:
        found = []
    if len(found) < 2 or not all(one < next_one for one, next_one in pairwise(found)):
        raise TarantulaError("{flag} needs at least two increasing numbers, separated by semicolons.", flag=flag)
    return found


def _parameter(name: str, choice: ExperimentOption) -> inspect.Parameter:
    option = typer.Option(choice.flag, help=choice.help, metavar=choice.metavar)
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=choice.default, annotation=Annotated[type(choice.default), option]
    )


def _duration_seconds(text: str) -> float:
    try:
        seconds = parse_duration(text)
    except ValueError as error:
        raise TarantulaError(str(error)) from error
    if seconds is None:
        raise TarantulaError("The horizon must be a duration, as 24h.")
    return float(seconds)


def _value_range(text: str, flag: str) -> ValueRange:
    """Parse ``0.01:1``, or one number for both ends."""
    from tarantula.revisit.experiments.experiment import ValueRange

    first, _, second = text.partition(":")
    try:
        span = ValueRange(float(first), float(second or first))
    except ValueError:
        span = ValueRange(1.0, 0.0)
    if not 0 <= span.low <= span.high:
        raise TarantulaError("{flag} needs one number, or LOW:HIGH, not negative and not decreasing.", flag=flag)
    return span


def _theta(weights: str) -> float:
    name, _, theta = weights.partition(":")
    if weights == "equal":
        return 0.0
    try:
        if name == "zipf":
            return float(theta or 1.0)
    except ValueError:
        pass
    raise TarantulaError("{weights!r} is not a weighting. Write equal, zipf, or zipf:0.8.", weights=weights)


def _shares(text: str) -> dict[ChangeLaw, float]:
    """Parse ``poisson=0.6;pareto=0.3``; a single law has the share 1."""
    from tarantula.revisit.changes import ChangeLaw

    laws = {law.label: law for law in ChangeLaw}
    shares: dict[ChangeLaw, float] = {}
    for part in filter(None, text.split(";")):
        name, _, share = (label.strip() for label in part.partition("="))
        if name not in laws:
            raise TarantulaError("There is no change law {name}. There are: {laws}.", name=name, laws=", ".join(laws))
        try:
            shares[laws[name]] = float(share or 1.0)
        except ValueError:
            raise TarantulaError("The share of {name} must be a number, not {share}.", name=name, share=share) from None
    if not shares:
        raise TarantulaError("A mixture needs at least one law. There are: {laws}.", laws=", ".join(laws))
    return shares


@contextmanager
def require_numeric_packages() -> Iterator[None]:
    """Turn a missing numeric package into an error that says what to install."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise TarantulaError(
            "Revisit plans need {module}. Install it with: pip install 'tarantula[revisit]'", module=error.name
        ) from error


app = noun_group("revisit")

MAX_SERVERS_SHOWN = 20


@app.callback()
def revisit() -> None:
    """Make this a group, so that the verb is required."""


@app.command()
def plan(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The publication.")],
    horizon: Annotated[
        str | None, typer.Option("--horizon", help="Length of the plan: 24h, 7d; default until the next item.")
    ] = None,
    visits: Annotated[
        int | None, typer.Option("--visits", help="Maximum visits; default what the delay allows, up to a million.")
    ] = None,
    policy: Annotated[
        str, typer.Option("--policy", help="Revisit policy: lasting, aged, uniform, psp, mp2, m-wolf, slotted.")
    ] = "lasting",
    weights: Annotated[str, typer.Option("--weights", help="Weights of pages: equal or depth.")] = "equal",
    first: Annotated[int, typer.Option("--first", min=0, help="Number of first visits shown.")] = 20,
    as_json: Json = False,
) -> None:
    """Show which pages of a publication would be visited when, and the expected freshness."""
    found = _plan(name, _seconds(horizon), visits, policy, weights, first)
    if as_json:
        write_json(found.as_dict())
    else:
        _show(found)


@app.command()
def estimators(
    visits: Annotated[int, typer.Option("--visits", min=1, max=1000, help="Number of evenly spaced visits.")] = 10,
    as_json: Json = False,
) -> None:
    """Show the bias and error of the rate estimators, computed over all outcomes of the visits."""
    with require_numeric_packages():
        from tarantula.revisit.rates.estimators import estimator_errors
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


@app.command()
@with_experiment()
def simulate(
    policy: Annotated[
        str, typer.Option("--policy", help="psp, mp2, m-wolf, slotted, lasting, aged or uniform.")
    ] = "psp",
    as_json: Json = False,
    **typed: Any,
) -> None:
    """Simulate a revisit policy on a generated web, and compare its staleness with the bounds."""
    with require_numeric_packages():
        from tarantula.revisit.experiments import experiment as experiments

        experiment = read_experiment(**typed)
        with progress_bar("Planning, then simulating") as count:
            found = experiments.run_experiment(
                experiment, policy, lambda moment: count(int(moment.seconds), int(experiment.horizon))
            )
    if as_json:
        write_json({"policy": policy, "experiment": experiment.as_json(), **found.as_json()})
    else:
        _draw(policy, found)


@app.command()
@with_experiment("reading")
def figures(
    thetas: Annotated[str, typer.Option("--thetas", metavar="'A;B'", help="Values of θ to compare.")] = "0;0.5;1;1.5;2",
    output: Annotated[
        Path, typer.Option("--output", metavar="DIR", help="Folder of revisit.md and its pictures.")
    ] = Path("docs"),
    **typed: Any,
) -> None:
    """Draw the staleness of every policy, and write the numbers into revisit.md."""
    with require_numeric_packages():
        from tarantula.revisit.experiments import figures as figure_pages

        experiment, varied = read_experiment(**typed), increasing_numbers(thetas, "--thetas")
        done = 0
        with progress_bar("Measuring") as count:

            def advance() -> None:
                nonlocal done
                done += 1
                count(done, figure_pages.progress_steps(varied))

            for path in figure_pages.write_figures(output, experiment, varied, advance):
                print(f"{path} is written.")


def _plan(
    name: str, horizon: float | None, visits: int | None, policy: str, weights: str, first: int
) -> VisitPlanSummary:
    with require_numeric_packages():
        from tarantula.services.revisit import plan_visits
    with local_context() as context:
        return plan_visits(context, name, horizon=horizon, visits=visits, policy=policy, weights=weights, first=first)


def _seconds(horizon: str | None) -> float | None:
    try:
        seconds = parse_duration(horizon)
    except ValueError as error:
        raise TarantulaError("The horizon: {error}", error=error) from error
    return None if seconds is None else float(seconds)


def _show(found: VisitPlanSummary) -> None:
    screen = console()
    screen.print(f"{found.publication}: {found.visits:,} visits in {_duration(found.horizon)}", style="bold")
    screen.print(
        f"{found.pages:,} {'page' if found.pages == 1 else 'pages'} of {found.item}, "
        f"{found.never_revisited:,} of them not revisited so far; "
        f"{found.pages_visited:,} would be visited, and {found.changes_expected:,.0f} visits are expected to find a "
        f"change. {_percent(found.fresh_now)} of the pages are expected to be fresh now."
    )
    screen.print(_freshness(found))
    screen.print(_servers(found))
    if len(found.servers) > MAX_SERVERS_SHOWN:
        screen.print(f"… and {len(found.servers) - MAX_SERVERS_SHOWN:,} more servers; --json lists all.")
    if found.first_visits:
        screen.print(_first_visits(found))


def _freshness(found: VisitPlanSummary) -> Table:
    drawn = table("over the horizon", "fresh", numbers=("fresh",), title="\nFreshness")
    drawn.add_row(f"with this plan ({found.policy})", _percent(found.freshness))
    drawn.add_row("with as many visits to all pages in turn", _percent(found.freshness_uniform))
    drawn.add_row("without visits", _percent(found.freshness_unvisited))
    return drawn


def _servers(found: VisitPlanSummary) -> Table:
    numbers = ("pause", "pages", "visits", "fresh")
    drawn = table("server", *numbers, "Last-Modified", numbers=numbers, whole="server", title="\nServers")
    for row in found.servers[:MAX_SERVERS_SHOWN]:
        pause = "never" if row.pause is None else f"{row.pause:g} s"
        counts = (f"{row.pages:,}", f"{row.visits:,}", _percent(row.freshness))
        drawn.add_row(row.server, pause, *counts, row.last_modified)
    return drawn


def _first_visits(found: VisitPlanSummary) -> Table:
    numbers = ("changes a day", "probability")
    drawn = table("at", *numbers, "why", "page", numbers=numbers, whole="at", title="\nFirst visits")
    for visit in found.first_visits:
        at = f"{datetime.fromisoformat(visit.due_at).astimezone():%Y-%m-%d %H:%M:%S}"
        drawn.add_row(at, f"{visit.rate_a_day:.3g}", _percent(visit.chance), visit.why, visit.url)
    return drawn


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _duration(seconds: float) -> str:
    return format_duration(int(seconds)) or f"{seconds:g} s"


def miss_text(miss: EstimatorError) -> str:
    """Format the bias and error of an estimator in percent, and how often its estimate is infinite."""
    infinite = f", {100 * miss.infinite:.1f} % infinite" if miss.infinite > 0.0005 else ""
    return f"{100 * miss.bias:+.1f} ± {100 * miss.error:.0f}{infinite}"


def _draw(policy: str, found: ExperimentResult) -> None:
    outcome = found.outcome
    staleness = table("", "staleness", numbers=("staleness",))
    staleness.add_row(policy, f"{outcome.staleness:.5f}")
    staleness.add_row("expected of these visits", f"{outcome.expected_staleness:.5f}")
    staleness.add_row("standard error", f"{outcome.standard_error:.5f}")
    for name, bound in found.bounds.items():
        staleness.add_row(name, f"{bound:.5f}")
    visits = table("", "visits", numbers=("visits",))
    visits.add_row("planned", f"{outcome.planned:,}")
    visits.add_row("made", f"{outcome.visits:,}")
    visits.add_row("found a change", f"{outcome.changed_visits:,}")
    visits.add_row("violated politeness", f"{outcome.breaches:,}")
    screen = console()
    for drawn in (staleness, visits):
        screen.print(drawn)
        screen.print()
    print(
        f"Visits were {outcome.mean_delay:.1f} s late on average, {outcome.longest_delay:.1f} s at most. "
        f"Planning took {found.planning:.1f} s, simulating {found.simulating:.1f} s."
    )
