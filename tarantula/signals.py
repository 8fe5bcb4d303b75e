"""Signals that Tarântula sends beside Scrapy's own."""

collection_over = object()
"""Sent when the deadline has passed or a stop was requested: open requests are cancelled. No arguments."""

document_stored = object()
"""Sent when a document and its links are committed. Arguments: ``document`` (a `CollectedDocument`), ``spider``."""
