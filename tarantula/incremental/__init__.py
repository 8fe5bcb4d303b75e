"""Incremental (refresh) items: which item they continue, what they copy from it, and which pages they visit again."""
