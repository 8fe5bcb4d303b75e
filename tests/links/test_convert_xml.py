"""Conversion of links in XML."""

from __future__ import annotations

import pytest

from tests.support.link_conversion import converted

SVG, XHTML, RSS = "image/svg+xml", "application/xhtml+xml", "application/rss+xml"


@pytest.mark.parametrize(
    ("media_type", "written", "becomes"),
    [
        (SVG, "<svg><image xlink:href='c'/></svg>", "<svg><image xlink:href='c.x'/></svg>"),
        (SVG, '<svg><a href="o?a&amp;b"/></svg>', '<svg><a href="http://fc.ul.pt/dir/o?a&amp;b"/></svg>'),
        (
            SVG,
            "<svg><style><![CDATA[a{b:url(c)}]]></style></svg>",
            "<svg><style><![CDATA[a{b:url(c.x)}]]></style></svg>",
        ),
        (SVG, "<svg><style>a{b:url(c)}</style></svg>", "<svg><style>a{b:url(c.x)}</style></svg>"),
        (SVG, "<svg><image href=c></svg>", "<svg><image href=c.x></svg>"),
        (XHTML, "<html><script src='c'/><a href='c'/></html>", "<html><script src='c.x'/><a href='c.x'/></html>"),
        (XHTML, "<html><base href='/c/'/><a href='c'/></html>", "<html><base href=''/><a href='../c/c.x'/></html>"),
        (
            SVG,
            "<?xml version='1.0'?><?xml-stylesheet type='text/css' href='/c'?><svg/>",
            "<?xml version='1.0'?><?xml-stylesheet type='text/css' href='../c.x'?><svg/>",
        ),
        (
            XHTML,
            '<!-- <?xml-stylesheet href="c"?> --><?xml-stylesheet href="c?a&amp;b" title="href=\'c\'"?>'
            "<html><base href='/c/'/></html>",
            '<!-- <?xml-stylesheet href="c"?> --><?xml-stylesheet href="../c/c.x" title="href=\'c\'"?>'
            "<html><base href=''/></html>",
        ),
        (RSS, "<?xml-stylesheet href='c'?><rss/>", "<?xml-stylesheet href='c.x'?><rss/>"),
        (
            "text/xml",
            "<?xml-stylesheet href='o'?><?xml-stylesheet href='#c'?><note><?xml-stylesheet href='c'?></note>",
            "<?xml-stylesheet href='http://fc.ul.pt/dir/o'?><?xml-stylesheet href='#c'?>"
            "<note><?xml-stylesheet href='c'?></note>",
        ),
        (RSS, "<rss><channel><link>/c</link></channel></rss>", "<rss><channel><link>../c.x</link></channel></rss>"),
        (RSS, "<rss><guid>http://fc.ul.pt/c</guid></rss>", "<rss><guid>../c.x</guid></rss>"),
        (RSS, *["<rss><guid isPermaLink='false'>http://fc.ul.pt/c</guid><guid>c</guid></rss>"] * 2),
        (RSS, "<rss><enclosure url='o'/></rss>", "<rss><enclosure url='http://fc.ul.pt/dir/o'/></rss>"),
        (RSS, "<rss><link> <![CDATA[ c ]]> </link></rss>", "<rss><link> <![CDATA[ c.x ]]> </link></rss>"),
        (
            RSS,
            "<rss><link><![CDATA[o?&b]]></link></rss>",
            "<rss><link><![CDATA[http://fc.ul.pt/dir/o?&b]]></link></rss>",
        ),
        (RSS, "<rss><link>o?a&amp;b</link></rss>", "<rss><link>http://fc.ul.pt/dir/o?a&amp;b</link></rss>"),
        (RSS, *["<rss><title>/c</title></rss>"] * 2),
        (
            "text/xml",
            "<feed xml:base='/c/'><link href='c'/></feed>",
            "<feed xml:base=''><link href='../c/c.x'/></feed>",
        ),
        (
            "text/xml",
            "<feed xml:base='/c/'><entry xml:base='d/'><link href='c'/></entry><icon>c</icon></feed>",
            "<feed xml:base=''><entry xml:base=''><link href='../c/d/c.x'/></entry><icon>../c/c.x</icon></feed>",
        ),
        ("text/xml", "<urlset><loc>http://fc.ul.pt/dir/c</loc></urlset>", "<urlset><loc>c.x</loc></urlset>"),
        ("text/xml", *["<!-- <a> --><!DOCTYPE x [<!ENTITY a 'b>']><note><link>/c</link></note>"] * 2),
    ],
)
def test_references_in_xml(media_type: str, written: str, becomes: str) -> None:
    assert converted(written, media_type).decode() == becomes
