"""Options of a simulated experiment, and the check that the numeric packages are installed."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from tarantula.core.errors import TarantulaError
from tarantula.core.times import parse_duration

if TYPE_CHECKING:
    from tarantula.revisit.changes import ChangeLaw
    from tarantula.revisit.experiments.experiment import Experiment, ValueRange

UNIT_SECONDS = {"second": 1.0, "minute": 60.0, "hour": 3600.0, "day": 86_400.0, "week": 604_800.0}

Command = Callable[..., None]


class ExperimentOption(NamedTuple):
    """An option, and what it is unless told."""

    flag: str
    usual: int | float | str
    help: str
    metavar: str | None = None


EXPERIMENT_OPTIONS = {
    "documents": ExperimentOption("--documents", 1_000_000, "How many documents there are."),
    "servers": ExperimentOption("--servers", 2_000, "On how many servers."),
    "theta": ExperimentOption("--theta", 1.0, "θ of Zipf's law of the servers' sizes; 0 is the same for all."),
    "rates": ExperimentOption(
        "--lambda", "0.01:1", "How often documents change, from the least to the most.", "LOW:HIGH"
    ),
    "unit": ExperimentOption("--lambda-unit", "hour", "Changes a second, minute, hour, day or week."),
    "rate_theta": ExperimentOption("--lambda-theta", 0.0, "θ of Zipf's law of the rates; 0 spreads them evenly."),
    "weights": ExperimentOption("--weights", "equal", "How much documents are worth: equal, zipf, or zipf:θ."),
    "mixture": ExperimentOption(
        "--mixture", "poisson", "Laws of change by their shares: poisson, pareto, quasi-deterministic.", "'A=0.6;B=0.4'"
    ),
    "sizes": ExperimentOption("--sizes", "1", "Of documents, drawn evenly.", "LOW:HIGH"),
    "horizon": ExperimentOption("--horizon", "24h", "How long: 24h, 7d, or seconds."),
    "politeness": ExperimentOption("--politeness", 15.0, "Seconds between two visits to a server."),
    "crawlers": ExperimentOption("--crawlers", 10, "How many crawlers."),
    "speed": ExperimentOption("--rate", "10", "Documents of size 1 that each fetches in a second.", "LOW:HIGH"),
    "server_speed": ExperimentOption("--server-rate", "inf", "The same, that a server can send.", "LOW:HIGH"),
    "reading": ExperimentOption(
        "--reading", "fresh", "fresh: all is at first; steady: every day is like the one before."
    ),
    "seed": ExperimentOption("--seed", 0, "Another number is another web, and other changes."),
}


def with_experiment(*leaving_out: str) -> Callable[[Command], Command]:
    """Give a command that ends in ``**typed`` an option for each choice."""

    def decorate(command: Command) -> Command:
        signature = inspect.signature(command, eval_str=True)
        own = [one for one in signature.parameters.values() if one.kind is not one.VAR_KEYWORD]
        choices = [_parameter(name, choice) for name, choice in EXPERIMENT_OPTIONS.items() if name not in leaving_out]
        keyword_only = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in own]
        command.__signature__ = signature.replace(parameters=[*choices, *keyword_only])  # type: ignore[attr-defined]
        return command

    return decorate


def read_experiment(**typed: Any) -> Experiment:
    """Return the experiment that was typed; what cannot be is as usual."""
    typed = {name: choice.usual for name, choice in EXPERIMENT_OPTIONS.items()} | typed
    from tarantula.revisit.experiments.experiment import Experiment, SyntheticWeb
    from tarantula.revisit.model import ModelReading

    if typed["unit"] not in UNIT_SECONDS:
        raise TarantulaError(f"There is no unit {typed['unit']}. There are: {', '.join(UNIT_SECONDS)}.")
    if typed["reading"] not in list(ModelReading):
        raise TarantulaError(f"There is no reading {typed['reading']}. There are: {', '.join(ModelReading)}.")
    rates, unit = _span(typed["rates"], "--lambda"), UNIT_SECONDS[typed["unit"]]
    counts = {name: typed[name] for name in ("documents", "servers", "theta", "rate_theta", "seed")}
    world = SyntheticWeb(low=rates.low / unit, high=rates.high / unit, weight_theta=_theta(typed["weights"]), **counts)
    return Experiment(
        world,
        _seconds(typed["horizon"]),
        typed["politeness"],
        typed["crawlers"],
        _span(typed["speed"], "--rate"),
        _span(typed["server_speed"], "--server-rate"),
        _span(typed["sizes"], "--sizes"),
        _shares(typed["mixture"]),
        ModelReading(typed["reading"]),
    )


def increasing_numbers(text: str, flag: str) -> list[float]:
    """Read ``0;0.5;1``: at least two numbers, each above the one before."""
    try:
        found = [float(part) for part in text.split(";") if part.strip()]
    except ValueError:
        found = []
    if len(found) < 2 or not all(one < next_one for one, next_one in pairwise(found)):
        raise TarantulaError(f"{flag} is two numbers or more, with semicolons, the lowest first.")
    return found


def _parameter(name: str, choice: ExperimentOption) -> inspect.Parameter:
    option = typer.Option(choice.flag, help=choice.help, metavar=choice.metavar)
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=choice.usual, annotation=Annotated[type(choice.usual), option]
    )


def _seconds(text: str) -> float:
    try:
        seconds = parse_duration(text)
    except ValueError as error:
        raise TarantulaError(str(error)) from error
    if seconds is None:
        raise TarantulaError("The horizon is a duration, as 24h.")
    return float(seconds)


def _span(text: str, flag: str) -> ValueRange:
    """Read ``0.01:1``, or one number for both."""
    from tarantula.revisit.experiments.experiment import ValueRange

    first, _, second = text.partition(":")
    try:
        span = ValueRange(float(first), float(second or first))
    except ValueError:
        span = ValueRange(1.0, 0.0)
    if not 0 <= span.low <= span.high:
        raise TarantulaError(f"{flag} is one number or two with a colon, from zero on and the lower one first.")
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
    raise TarantulaError(f"{weights} says nothing of weights. Write equal, zipf, or zipf:0.8.")


def _shares(text: str) -> dict[ChangeLaw, float]:
    """Read ``poisson=0.6;pareto=0.3``; a law alone has all."""
    from tarantula.revisit.changes import ChangeLaw

    laws = {law.label: law for law in ChangeLaw}
    shares: dict[ChangeLaw, float] = {}
    for part in filter(None, text.split(";")):
        name, _, share = (label.strip() for label in part.partition("="))
        if name not in laws:
            raise TarantulaError(f"There is no law of change {name}. There are: {', '.join(laws)}.")
        try:
            shares[laws[name]] = float(share or 1.0)
        except ValueError:
            raise TarantulaError(f"The share of {name} is a number, not {share}.") from None
    if not shares:
        raise TarantulaError(f"A mixture has at least one law. There are: {', '.join(laws)}.")
    return shares


@contextmanager
def require_numeric_packages() -> Iterator[None]:
    """Say what to install where the packages that count are missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise TarantulaError(
            f"Revisits are planned with {error.name}. Install it with: pip install 'tarantula[revisit]'"
        ) from error
