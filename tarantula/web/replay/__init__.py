"""Archived pages, served from a separate origin in a sandbox."""
