"""The full-text index: its schema, its files, and the processes that keep it up to date."""
