"""Views of values on a dashboard."""
