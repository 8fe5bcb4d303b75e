"""Signals that Tarântula sends in addition to Scrapy's own."""

collection_over = object()
"""Sent when the deadline has passed, a stop was requested or the item is handed over: open requests are cancelled. No
arguments."""

memory_low = object()
"""Sent when little memory is left: components forget what they can get again. No arguments."""

document_stored = object()
"""Sent when a document and its links are committed. Arguments: ``document`` (a `CollectedDocument`), ``spider``."""
