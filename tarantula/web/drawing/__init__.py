"""Views as charts: options of ECharts, and what else is drawn.

Whatever strangers wrote is a value in them, never a key and never code: keys that begin with a colon are code.
"""
