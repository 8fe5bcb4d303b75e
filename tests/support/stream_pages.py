"""Generated pages: the same figures in different layouts, so that the place of each value is known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from html import escape
from random import Random

from turbohtml import parse

PLACES = "Aveiro Beja Braga Coimbra Évora Faro Guarda Leiria Lisboa Porto Setúbal Viseu".split()
MEASURES = ["Máxima", "Mínima", "Preço", "Volume", "Abertura", "Fecho", "Procura", "Oferta"]
MARK = "here it is"
UNITS = ["", " €", " %", " °C", " km/h"]


@dataclass(frozen=True)
class Figures:
    """The figures on a page: a value for each place and measure."""

    places: tuple[str, ...]
    measures: tuple[str, ...]
    values: dict[tuple[str, str], float]
    unit: str
    counts: bool = False
    marked: tuple[str, str] | None = None
    """The value that is drawn as `MARK`, to find its element."""

    def text(self, place: str, measure: str) -> str:
        """Format a value as the page shows it."""
        if self.marked == (place, measure):
            return MARK
        if self.counts:
            return str(int(self.values[place, measure]))
        return f"{self.values[place, measure]:.2f}".replace(".", ",") + self.unit


Layout = Callable[[Figures, Random], str]


def figures(random: Random) -> Figures:
    """Generate figures: distinct measurements, or small counts of which many are equal."""
    places = tuple(random.sample(PLACES, random.randint(2, 6)))
    measures = tuple(random.sample(MEASURES, random.randint(1, 4)))
    pairs = [(place, measure) for place in places for measure in measures]
    base = random.choice([0, 2, 40, 900])
    if not base:
        return Figures(places, measures, {pair: float(random.randint(0, 30)) for pair in pairs}, "", counts=True)
    numbers = random.sample(range(base * 100, base * 160), len(pairs))
    return Figures(places, measures, dict(zip(pairs, (n / 100 for n in numbers), strict=True)), random.choice(UNITS))


def later(known: Figures, random: Random) -> Figures:
    """Change some values a little; measurements stay distinct."""
    values = dict(known.values)
    for pair in values:
        moved = round(values[pair] * random.uniform(0.97, 1.03), 2)
        if known.counts:
            values[pair] += random.choice([0, 0, 1, 3])
        elif random.random() < 0.5 and moved not in values.values():
            values[pair] = moved
    return replace(known, values=values)


def shuffled(known: Figures, random: Random) -> Figures:
    """Shuffle places and measures."""
    return replace(
        with_places_shuffled(known, random), measures=tuple(random.sample(known.measures, len(known.measures)))
    )


def with_places_shuffled(known: Figures, random: Random) -> Figures:
    """Shuffle places."""
    return replace(known, places=tuple(random.sample(known.places, len(known.places))))


def with_more(known: Figures, random: Random) -> Figures:
    """Add a place with similar values."""
    new = random.choice([place for place in PLACES if place not in known.places])
    position = random.randint(0, len(known.places))
    values, most = dict(known.values), max(known.values.values())
    for n, measure in enumerate(known.measures):
        values[new, measure] = random.randint(0, 30) if known.counts else round(most * 1.01 + 0.01 * n + 0.01, 2)
    return replace(known, places=(*known.places[:position], new, *known.places[position:]), values=values)


def without(known: Figures, place: str) -> Figures:
    """Remove a place."""
    return replace(known, places=tuple(one for one in known.places if one != place))


def _class(random: Random) -> str:
    return random.choice(
        ["", f' class="c{random.randint(10, 99)}"', f' class="{random.choice("ab cell val num".split())}"']
    )


def table(known: Figures, random: Random) -> str:
    """Draw a table with row and column titles."""
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
    """Draw a section with a heading for each place."""
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
    """Draw a list with an item for each place."""
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
    """Draw a card for each place, with the numbers above their labels."""
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


def bare(known: Figures, random: Random) -> str:
    """Draw values with no label but the name of the place."""
    value = _class(random)
    return "".join(
        f"<p>{place} " + " ".join(f"<b{value}>{known.text(place, measure)}</b>" for measure in known.measures) + "</p>"
        for place in known.places
    )


def nameless(known: Figures, random: Random) -> str:
    """Draw values without labels."""
    value = _class(random)
    texts = [known.text(place, measure) for place in known.places for measure in known.measures]
    return "<div>" + "".join(f"<i{value}>{text}</i> " for text in texts) + "</div>"


def doubled(known: Figures, random: Random) -> str:
    """Draw the figures twice, for large and for small screens."""
    return f'<div class="large">{table(known, random)}</div><div class="small">{sections(known, random)}</div>'


LAYOUTS: list[Layout] = [table, sections, items, grid, cards]
"""Layouts that label each value with its place and measure."""
ALL_LAYOUTS: list[Layout] = [*LAYOUTS, bare, nameless, doubled]


def selector(known: Figures, layout: Layout, seed: int, pair: tuple[str, str]) -> str:
    """Return the CSS path of a value's element in the page of a seed, as a click in the picker gives it."""
    document = parse(page(replace(known, marked=pair), layout, Random(seed)))
    return [element for element in document.iter_elements() if element.text.strip() == MARK][-1].css_path()


def page(known: Figures, layout: Layout, random: Random) -> bytes:
    """Draw a complete page, with unrelated content around the figures."""
    noise = "".join(f"<p>{escape(text)}</p>" for text in random.sample(_NOISE, random.randint(0, 3)))
    inner = layout(known, random)
    for _ in range(random.randint(0, 2)):
        inner = f"<div{_class(random)}>{inner}</div>"
    heading = "<h2>Valores do dia</h2>" if random.random() < 0.8 else ""
    first = "<h1>Observatório</h1>" if random.random() < 0.8 else ""
    around = [_record(known, random) if random.random() < 0.3 else "" for _ in range(2)]
    return (
        '<!doctype html><html lang="pt"><head><meta charset="utf-8"><title>Observatório</title></head><body>'
        f"<nav><a href='/'>Início</a> <a href='/dados'>Dados</a></nav>{first}{noise}{around[0]}"
        f"{heading}{inner}{around[1]}<footer><p>Observatório nacional</p></footer></body></html>"
    ).encode()


def _record(known: Figures, random: Random) -> str:
    """Draw a box with a label of the page and another value, which is never followed."""
    value = max(known.values.values()) * random.uniform(1.02, 1.2)
    text = (str(int(value) + 1) if known.counts else f"{value:.2f}".replace(".", ",")) + known.unit
    tag, title = random.choice(["aside", "div", "section"]), random.choice(["<h3>Recorde</h3>", "<b>Recorde</b>", ""])
    measure = random.choice(known.measures)
    return f"<{tag}{_class(random)}>{title}<p><span>{measure}</span> <span{_class(random)}>{text}</span></p></{tag}>"


_NOISE = [
    "Os dados são atualizados a cada hora por estações automáticas.",
    "Aviso: manutenção no sábado",
    "Contactos e horários",
    "Subscreva o boletim, 12 números por ano",
]
