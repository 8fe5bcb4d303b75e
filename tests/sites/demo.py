"""A small faculty on three loopback servers, in Portuguese and English: the site that `make demo` collects."""

from __future__ import annotations

from html import escape
from random import Random

from tests.sites.demo_text import DEPARTMENTS, FACULTY, NEWS, READING, Department
from tests.sites.drawing import pdf, png
from tests.sites.server import Answer, Route, Web

FACULTY_SERVER, DEPARTMENT_SERVER, LIBRARY_SERVER = "127.0.0.2", "127.0.0.3", "127.0.0.4"
NOT_ACCEPTED = "127.0.0.5"
LARGEST = 500_000
YEARS = range(1911, 2031, 10)
STYLE = """@import "impressao.css" print;
body { font: 16px/1.5 serif; margin: 2em auto; max-width: 44em; background: url(fundo.png) repeat-x }
nav a { margin-right: 1em }
"""
SCRIPT = "document.documentElement.dataset.ready = 'yes';\n"
ROBOTS = "User-agent: *\nDisallow: /intranet/\n"


class DemoWeb(Web):
    """The faculty, its departments and its library; it links to a fourth server, which no publication accepts."""

    def __init__(self) -> None:
        super().__init__({}, (FACULTY_SERVER, DEPARTMENT_SERVER, LIBRARY_SERVER))

    def __enter__(self) -> DemoWeb:
        super().__enter__()
        for address, routes in {
            FACULTY_SERVER: self._faculty(),
            DEPARTMENT_SERVER: self._departments(),
            LIBRARY_SERVER: self._library(),
        }.items():
            self.routes.update({address + path: route for path, route in (_everywhere() | routes).items()})
        return self

    def _page(self, lang: str, title: str, *paragraphs: str) -> Answer:
        home = self.url("/" if lang == "pt" else "/en/", FACULTY_SERVER)
        places = {
            home: "Faculdade" if lang == "pt" else "Faculty",
            self.url(f"/{lang}/", DEPARTMENT_SERVER): "Departamentos" if lang == "pt" else "Departments",
            self.url("/", LIBRARY_SERVER): "Biblioteca" if lang == "pt" else "Library",
        }
        menu = "".join(link(url, text) for url, text in places.items())
        words = Random(title).choices(READING[lang], k=5 + len(title) % 40)
        body = "\n".join(f"<p>{paragraph}</p>" for paragraph in (*paragraphs, *words))
        return Answer(
            f'<!doctype html>\n<html lang="{lang}"><head><meta charset="utf-8"><title>{escape(title)}</title>\n'
            '<link rel="stylesheet" href="/estilo.css"><script src="/pagina.js"></script>\n'
            f'<link rel="icon" href="/brasao.svg"></head>\n<body><nav>{menu}</nav>\n<h1>{escape(title)}</h1>\n'
            f"{body}\n</body></html>\n"
        )

    def _faculty(self) -> dict[str, Route]:
        news = [link(f"/noticias/{number}.html", title) for number, (title, _) in enumerate(NEWS, 1)]
        gone = link("/antigo/", "a página antiga"), link("/horarios/2019.html", "os horários de 2019")
        outside = link(f"http://{NOT_ACCEPTED}:{self.port}/", "Ministério"), link("https://www.example.org/", "Rede")
        routes: dict[str, Route] = {
            "/": self._page("pt", "Faculdade de Ciências", FACULTY["pt"], link("/en/", "English"), *news,
                            link("/noticias.xml", "RSS"), link("/intranet/notas.html", "Intranet"), *gone, *outside,
                            link("/visita.mp4", "Uma visita guiada (filme)"), link("mailto:a@example.org", "Correio")),
            "/en/": self._page("en", "Faculty of Sciences", FACULTY["en"], link("/", "Português"),
                               link("/regulamento.pdf", "Rules (PDF, in Portuguese)")),
            "/inicio.html": Answer(status=301, headers={"Location": "/"}),
            "/antigo/": Answer(status=302, headers={"Location": "/inicio.html"}),
            "/intranet/notas.html": self._page("pt", "Notas", "Só para quem cá trabalha."),
            "/regulamento.pdf": Answer(pdf("Regulamento da Faculdade"), "application/pdf"),
            "/visita.mp4": Answer(b"\0\0\0\x18ftypmp42", "video/mp4"),
            "/noticias.xml": Answer(self._feed(), "application/rss+xml"),
        }  # fmt: skip
        for number, (title, text) in enumerate(NEWS, 1):
            routes[f"/noticias/{number}.html"] = self._page("pt", title, text, figure(f"/fotos/{number}.png", title))
            routes[f"/fotos/{number}.png"] = Answer(png(240, 120, colour(number)), "image/png")
        return routes

    def _feed(self) -> str:
        items = "".join(
            f"<item><title>{escape(title)}</title><link>{self.url(f'/noticias/{number}.html')}</link></item>"
            for number, (title, _) in enumerate(NEWS, 1)
        )
        return f'<?xml version="1.0"?><rss version="2.0"><channel><title>Notícias</title>{items}</channel></rss>'

    def _departments(self) -> dict[str, Route]:
        routes: dict[str, Route] = {}
        for lang, title in {"pt": "Departamentos", "en": "Departments"}.items():
            links = [link(f"/{lang}/{one.short}/", one.name[lang]) for one in DEPARTMENTS]
            routes[f"/{lang}/"] = self._page(lang, title, *links)
        for number, department in enumerate(DEPARTMENTS, 1):
            routes |= self._department(department, number)
        return routes

    def _department(self, department: Department, number: int) -> dict[str, Route]:
        short, name = department.short, department.name
        people = link(f"/pt/{short}/pessoas.html", "Pessoas")
        courses = [link(f"/pt/{short}/{n}.html", course) for n, course in enumerate(department.courses, 1)]
        routes: dict[str, Route] = {
            f"/pt/{short}/": self._page("pt", name["pt"], figure("edificio.png", name["pt"]), people, *courses,
                                        link(f"/en/{short}/", "English"), link("seminarios.html", "Seminários")),
            f"/en/{short}/": self._page("en", name["en"], figure(f"/pt/{short}/edificio.png", name["en"]),
                                        link(f"/pt/{short}/", "Português")),
            f"/pt/{short}/pessoas.html": self._page("pt", f"Pessoas: {name['pt']}", *map(escape, department.people)),
            f"/pt/{short}/edificio.png": Answer(png(320, 90, colour(number + 7)), "image/png"),
        }  # fmt: skip
        for n, course in enumerate(department.courses, 1):
            lead = link(f"/pt/{short}/", name["pt"])
            routes[f"/pt/{short}/{n}.html"] = self._page("pt", course, f"Uma disciplina de {lead}.")
        return routes

    def _library(self) -> dict[str, Route]:
        decades = [link(f"/arquivo/{year}.html", f"{year}–{year + 9}") for year in YEARS]
        everything = link("/arquivo/tudo.html", "Tudo numa página (muito grande)")
        routes: dict[str, Route] = {
            "/": self._page("pt", "Biblioteca", "O arquivo, década a década.", *decades, everything),
            "/arquivo/tudo.html": Answer("<p>linha\n" * (LARGEST // 8)),
        }
        for year in YEARS:
            later = link(f"{year + 10}.html", "A década seguinte")
            routes[f"/arquivo/{year}.html"] = self._page("pt", f"O arquivo de {year} a {year + 9}", later)
        return routes


def _everywhere() -> dict[str, Route]:
    return {
        "/robots.txt": Answer(ROBOTS, "text/plain"),
        "/estilo.css": Answer(STYLE, "text/css"),
        "/impressao.css": Answer("nav { display: none }", "text/css"),
        "/pagina.js": Answer(SCRIPT, "text/javascript"),
        "/fundo.png": Answer(png(8, 64, (250, 240, 210)), "image/png"),
        "/brasao.svg": Answer(
            '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><circle cx="8" cy="8" r="7"/></svg>',
            "image/svg+xml",
        ),
    }


def link(url: str, text: str) -> str:
    """Return a link in a paragraph."""
    return f'<a href="{escape(url)}">{escape(text)}</a>'


def figure(url: str, text: str) -> str:
    """Return a picture in a paragraph."""
    return f'<img src="{escape(url)}" alt="{escape(text)}">'


def colour(number: int) -> tuple[int, int, int]:
    """Return one of many colours."""
    return (60 + number * 47 % 180, 60 + number * 89 % 180, 60 + number * 23 % 180)
