"""The site for benchmarks: pages of 8 KB with 27 links each, on many servers, generated before the first request."""

from __future__ import annotations

from random import Random
from typing import Self

from tests.sites.server import Answer, Web

SIZE = 8192
LINKS = 27
BRANCHES = 3
"""The first links of a page lead to pages without earlier links, so that all pages are found at a small depth."""
WORDS = (
    "a biblioteca recolhe publicações da rede e guarda cada página com as suas imagens para quem as quiser ler "
    "the library collects what is published on the web and keeps every page with its pictures for those to come"
).split()


class LargeWeb(Web):
    """A number of pages on a number of loopback addresses."""

    def __init__(self, pages: int = 3000, servers: int = 64, site: int = 0) -> None:
        super().__init__({}, [f"127.0.{site}.{number}" for number in range(1, servers + 1)])
        self.pages = pages
        self._first_seed = site * pages
        """Sites of different numbers have different texts."""

    def __enter__(self) -> Self:
        super().__enter__()
        for number in range(self.pages):
            answer = Answer(self._page(number))
            assert len(answer.wire) > SIZE
            self.routes[self._address(number) + _path(number)] = answer
        return self

    @property
    def base_url(self) -> str:
        """URL of the first page."""
        return self.page_url(0)

    def page_url(self, number: int) -> str:
        """Return the URL of a page."""
        return self.url(_path(number), self._address(number))

    def links(self, number: int) -> list[int]:
        """Return the numbers of the pages that a page links to, all different and none its own."""
        next_ones = ((number * BRANCHES + step) % self.pages for step in range(1, BRANCHES + 1))
        others = Random(number).sample(range(self.pages), min(self.pages, LINKS + BRANCHES + 1))
        found = dict.fromkeys([*next_ones, *others])
        found.pop(number, None)
        return list(found)[:LINKS]

    def _address(self, number: int) -> str:
        return self.addresses[number % len(self.addresses)]

    def _href(self, number: int, target: int) -> str:
        return _path(target) if self._address(number) == self._address(target) else self.page_url(target)

    def _page(self, number: int) -> bytes:
        words = Random(self._first_seed + number)
        parts = [
            f'<!doctype html>\n<html lang="pt"><head><meta charset="utf-8"><title>Página {number}</title></head>\n'
            f'<body>\n<div id="content"><h1>Página {number}</h1>\n'
        ]
        for target in self.links(number):
            text = " ".join(words.choices(WORDS, k=20))
            parts.append(f'<p class="entry">{text} <a href="{self._href(number, target)}">{target}</a>.</p>\n')
        page = "".join(parts).encode()
        end = b"</p></div>\n</body></html>\n"
        filler = " ".join(words.choices(WORDS, k=SIZE // 4)).encode("ascii", "ignore")
        return page + b"<p>" + filler[: SIZE - len(page) - len(end) - 3] + end


def _path(number: int) -> str:
    return f"/section-{number % 7}/page-{number}.html"
