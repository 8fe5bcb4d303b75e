"""``scrapy parse``: print the document and the links that a publication makes of a URL, without storing it."""

from __future__ import annotations

from scrapy.commands.parse import Command as ScrapyParse

from tarantula.spiders.loader import PreviewCommand


class Command(PreviewCommand, ScrapyParse):
    """Scrapy's command, with previews of the spiders of publications."""
