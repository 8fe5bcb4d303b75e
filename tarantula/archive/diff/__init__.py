"""Differences between two items: by URL, by content, and within the text of a page."""
