"""The references of a document replaced, whatever its type; every other byte stays as it was."""

from __future__ import annotations

from collections.abc import Callable

from tarantula.links.convert_part_convert_html import convert_html
from tarantula.links.convert_part_convert_xml import convert_xml, convert_xml_markup
from tarantula.links.extract import Extractor, css_links, extractor_for
from tarantula.links.extract_part_feeds import xml_links
from tarantula.links.grammar import ValueForm
from tarantula.links.link import LinkKind
from tarantula.links.markup import html_links, xml_markup_links
from tarantula.links.relocation import Relocator
from tarantula.links.relocation_part_page import PageReferences
from tarantula.links.rewriter_part_rewriting import ReferenceRewriter, verbatim
from tarantula.links.source import SourceText

ConvertFunction = Callable[[bytes, str, "str | None", Relocator, str], bytes]


def convert_links(
    body: bytes, media_type: str | None, url: str, charset: str | None, relocator: Relocator, folder: str
) -> bytes:
    """Return a document whose references lead to copies, seen from *folder*, or else to the web.

    *body*, *media_type*, *url* and *charset* are what `tarantula.links.extract.extract_links` takes. What has no
    references, or is of a type whose references nobody reads, comes back as it was.
    """
    reader = extractor_for(body, media_type or "", url)
    converter = CONVERTERS.get(reader) if reader else None
    return converter(body, url, charset, relocator, folder) if converter else body


def convert_css(body: bytes, url: str, charset: str | None, relocator: Relocator, folder: str) -> bytes:
    """Return a stylesheet whose references lead where they should from *folder*."""
    sheet = ReferenceRewriter(SourceText.of_text(body, charset), PageReferences(relocator, url, folder))
    sheet.value(0, len(sheet.source.shape), ValueForm.STYLE, LinkKind.IN_STYLE, verbatim, plain=True)
    return sheet.bytes()


CONVERTERS: dict[Extractor, ConvertFunction] = {
    html_links: convert_html,
    xml_markup_links: convert_xml_markup,
    xml_links: convert_xml,
    css_links: convert_css,
}
"""Who converts what is read by whom."""
