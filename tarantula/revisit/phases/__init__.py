"""The three phases of 2007: how often, when, and by whom."""
