"""The index: its fields, its files, and whoever brings it up to date."""
