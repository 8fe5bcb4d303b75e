"""Views of sources on the dashboard: configuration, formulas, filters, tracks and what is shown."""
