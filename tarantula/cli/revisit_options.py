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
        _seconds(typed["horizon"]),
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


def _seconds(text: str) -> float:
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
