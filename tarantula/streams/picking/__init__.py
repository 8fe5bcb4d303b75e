"""Pointing at values: a page that can be looked at safely, and selectors for what somebody points at."""
