"""``scrapy view``: open a response in a browser, without storing it."""

from __future__ import annotations

from scrapy.commands.view import Command as ScrapyView

from tarantula.spiders.loader import PreviewCommand


class Command(PreviewCommand, ScrapyView):
    """Scrapy's command, with previews of the spiders of publications."""
