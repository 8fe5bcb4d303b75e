"""Signals that Tarântula sends beside Scrapy's own."""

collection_over = object()
"""The item's time is over, or somebody stopped it: whatever is under way is given up. No arguments."""

document_stored = object()
"""A document and its links are in the database. Arguments: ``document`` (a `CollectedDocument`), ``spider``."""
