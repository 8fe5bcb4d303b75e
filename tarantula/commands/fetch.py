"""``scrapy fetch``: print a response, without storing it."""

from __future__ import annotations

from scrapy.commands.fetch import Command as ScrapyFetch

from tarantula.spiders.loader import PreviewCommand


class Command(PreviewCommand, ScrapyFetch):
    """Scrapy's command, with previews of the spiders of publications."""
