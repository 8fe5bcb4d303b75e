"""Conversion changes references and no other byte."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.link_conversion import converted
from tests.support.mirrors import without_links


@pytest.mark.parametrize(
    ("charset", "label"),
    [
        ("utf-8", "utf-8"),
        ("latin-1", "iso-8859-1"),
        ("windows-1251", "windows-1251"),
        ("shift_jis", "shift_jis"),
        ("iso-2022-jp", "iso-2022-jp"),
        ("gb18030", "gb18030"),
        ("big5", "big5"),
        ("euc-kr", "euc-kr"),
        ("utf-16-le", "utf-16le"),
        ("utf-16-be", "utf-16be"),
        ("utf-16", None),
        ("utf-8-sig", None),
    ],
)
def test_every_charset_keeps_its_bytes(charset: str, label: str | None) -> None:
    words = {"latin-1": "ação", "windows-1251": "Русский", "big5": "許功蓋", "euc-kr": "뷁한국"}.get(charset, "表ソ能")
    page = (
        '<!doctype html>\r\n<p title="{0}">{0}</p>\r\n<a href="{1}" title="{0}">{0}</a>'
        '<style>p{{content:"{0}"; a:url({1})}}</style>'
    )
    before, after = (page.format(words, address).encode(charset) for address in ("c", "c.x"))
    assert converted(before, charset=label) == after


def test_references_in_other_charsets_lead_where_they_led() -> None:
    assert converted('<a href="não?q=ção">'.encode("latin-1"), charset="iso-8859-1") == (
        b'<a href="http://fc.ul.pt/dir/n%C3%A3o?q=%E7%E3o">'
    )


@given(
    st.binary(),
    st.sampled_from(["text/html", "text/css", "image/svg+xml", "text/xml", "application/xhtml+xml"]),
    st.sampled_from([None, "utf-8", "shift_jis", "utf-16le", "iso-2022-jp", "gbk"]),
)
def test_any_bytes_come_out_as_they_went_in(body: bytes, media_type: str, charset: str | None) -> None:
    assert converted(body, media_type, charset) == body


PIECES = [
    "<a href=c>",
    '<a\r\nhref="c&amp;d#e">',
    "<img src='c' srcset='c 1x, o 2x'>",
    "<base href='/k/'>",
    "</a>",
    "<p>",
    "</p>",
    "<b>",
    "<table><tr><td background=c>",
    "</table>",
    "<style>a{b:url(c)}",
    "</style>",
    "<!--",
    "-->",
    "<svg>",
    "</svg>",
    "<title>",
    "</title>",
    "<noscript>",
    "</noscript>",
    "<iframe srcdoc='<a href=c>'>",
    "</iframe>",
    "<template>",
    "</template>",
    "text é\r",
    "<script src=c>",
    "</script>",
    "<select>",
    "<frameset>",
    "<frame src=c>",
    "<plaintext>",
    "<body background=c>",
    "\x00",
    "\x0c",
    "<math><mtext><a href=c>",
    "<![CDATA[",
    "]]>",
    "<a href=c",
    ">",
    '"',
    "'",
    "<meta http-equiv=refresh content='0;c'>",
]


@given(
    st.lists(st.sampled_from(PIECES), max_size=30), st.sampled_from(["text/html", "application/xhtml+xml", "text/xml"])
)
def test_only_links_change(pieces: list[str], media_type: str) -> None:
    body = "".join(pieces).encode()
    assert without_links(converted(body, media_type), media_type) == without_links(body, media_type)
