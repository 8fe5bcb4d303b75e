"""Signals that Tarântula sends beside Scrapy's own."""

document_stored = object()
"""A document and its links are in the database. Arguments: ``document`` (a `CollectedDocument`), ``spider``."""
