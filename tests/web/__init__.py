"""Tests of the management pages, the search pages and the HTTP API."""
