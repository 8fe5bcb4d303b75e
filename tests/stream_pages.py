"""Pages that are made up: the same figures in one layout or another, so that it is known what is where."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from html import escape
from random import Random

PLACES = "Aveiro Beja Braga Coimbra Évora Faro Guarda Leiria Lisboa Porto Setúbal Viseu".split()
MEASURES = ["Máxima", "Mínima", "Preço", "Volume", "Abertura", "Fecho", "Procura", "Oferta"]
UNITS = ["", " €", " %", " °C", " km/h"]


@dataclass(frozen=True)
class Figures:
    """What a page shows: a value for each place and measure, all of them different."""

    places: tuple[str, ...]
    measures: tuple[str, ...]
    values: dict[tuple[str, str], float]
    unit: str

    def text(self, place: str, measure: str) -> str:
        """Return a value as the page writes it."""
        return f"{self.values[place, measure]:.2f}".replace(".", ",") + self.unit


Layout = Callable[[Figures, Random], str]


def figures(random: Random) -> Figures:
    """Make some up."""
    places = tuple(random.sample(PLACES, random.randint(2, 6)))
    measures = tuple(random.sample(MEASURES, random.randint(1, 4)))
    base = random.choice([2, 40, 900])
    numbers = random.sample(range(base * 100, base * 160), len(places) * len(measures))
    pairs = [(place, measure) for place in places for measure in measures]
    return Figures(places, measures, dict(zip(pairs, (n / 100 for n in numbers), strict=True)), random.choice(UNITS))


def later(known: Figures, random: Random) -> Figures:
    """Let some values change a little; no two are ever the same."""
    values = dict(known.values)
    for pair in values:
        moved = round(values[pair] * random.uniform(0.97, 1.03), 2)
        if random.random() < 0.5 and moved not in values.values():
            values[pair] = moved
    return replace(known, values=values)


def shuffled(known: Figures, random: Random) -> Figures:
    """Let places and measures stand in another order."""
    places = tuple(random.sample(known.places, len(known.places)))
    return replace(known, places=places, measures=tuple(random.sample(known.measures, len(known.measures))))


def with_more(known: Figures, random: Random) -> Figures:
    """Let a place come in somewhere, with values like the others."""
    new = random.choice([place for place in PLACES if place not in known.places])
    position = random.randint(0, len(known.places))
    values, most = dict(known.values), max(known.values.values())
    values |= {(new, measure): round(most * 1.01 + 0.01 * n + 0.01, 2) for n, measure in enumerate(known.measures)}
    return replace(known, places=(*known.places[:position], new, *known.places[position:]), values=values)


def without(known: Figures, place: str) -> Figures:
    """Let a place go."""
    return replace(known, places=tuple(one for one in known.places if one != place))


def _class(random: Random) -> str:
    return random.choice(
        ["", f' class="c{random.randint(10, 99)}"', f' class="{random.choice("ab cell val num".split())}"']
    )


def table(known: Figures, random: Random) -> str:
    """Draw a table with titles."""
    name, value = _class(random), _class(random)
    head = "".join(f"<th>{measure}</th>" for measure in known.measures)
    rows = "".join(
        f"<tr><td{name}>{place}</td>"
        + "".join(f"<td{value}>{known.text(place, measure)}</td>" for measure in known.measures)
        + "</tr>"
        for place in known.places
    )
    return f"<table{_class(random)}><tr><th>Local</th>{head}</tr>{rows}</table>"


def sections(known: Figures, random: Random) -> str:
    """Draw a part with a heading for each place."""
    tag, value, wrapped = random.choice(["section", "article", "div"]), _class(random), _class(random)
    label, text = random.choice([("dt", "dd"), ("span", "span"), ("b", "i")])
    outer = "dl" if label == "dt" else "div"
    return "".join(
        f"<{tag}{wrapped}><h3>{place}</h3><{outer}>"
        + "".join(
            f"<{label}>{measure}</{label}> <{text}{value}>{known.text(place, measure)}</{text}> "
            for measure in known.measures
        )
        + f"</{outer}></{tag}>"
        for place in known.places
    )


def items(known: Figures, random: Random) -> str:
    """Draw a list, a part of it for each place."""
    value = _class(random)
    return (
        "<ul>"
        + "".join(
            f"<li><strong>{place}</strong> "
            + "".join(
                f"<p>{measure}: <span{value}>{known.text(place, measure)}</span></p>" for measure in known.measures
            )
            + "</li>"
            for place in known.places
        )
        + "</ul>"
    )


def grid(known: Figures, random: Random) -> str:
    """Draw rows of divs under a row of titles."""
    row, value = _class(random), _class(random)
    head = "".join(f"<div>{measure}</div>" for measure in known.measures)
    rows = "".join(
        f"<div{row}><div>{place}</div>"
        + "".join(f"<div{value}>{known.text(place, measure)}</div>" for measure in known.measures)
        + "</div>"
        for place in known.places
    )
    return f"<div><div{row}><div>Local</div>{head}</div>{rows}</div>"


def cards(known: Figures, random: Random) -> str:
    """Draw a card for each place, with the numbers above their words."""
    card, value = random.choice(["card", "kpi", "box"]), _class(random)
    return "".join(
        f'<div class="{card}"><h4>{place}</h4>'
        + "".join(
            f"<div><div{value}>{known.text(place, measure)}</div><div>{measure}</div></div>"
            for measure in known.measures
        )
        + "</div>"
        for place in known.places
    )


LAYOUTS: list[Layout] = [table, sections, items, grid, cards]


def page(known: Figures, layout: Layout, random: Random) -> bytes:
    """Draw a whole page."""
    noise = "".join(f"<p>{escape(text)}</p>" for text in random.sample(_NOISE, random.randint(0, 3)))
    inner = layout(known, random)
    for _ in range(random.randint(0, 2)):
        inner = f"<div{_class(random)}>{inner}</div>"
    return (
        '<!doctype html><html lang="pt"><head><meta charset="utf-8"><title>Observatório</title></head><body>'
        f"<nav><a href='/'>Início</a> <a href='/dados'>Dados</a></nav><h1>Observatório</h1>{noise}"
        f"<h2>Valores do dia</h2>{inner}<footer><p>Observatório nacional</p></footer></body></html>"
    ).encode()


_NOISE = [
    "Os dados são atualizados a cada hora por estações automáticas.",
    "Aviso: manutenção no sábado",
    "Contactos e horários",
    "Subscreva o boletim, 12 números por ano",
]
