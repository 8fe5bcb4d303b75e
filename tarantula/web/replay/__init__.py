"""Archived pages, shown on an origin of their own, from which they reach nobody."""
