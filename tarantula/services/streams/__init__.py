"""Use cases of streams: sources, their values, views and alerts."""
