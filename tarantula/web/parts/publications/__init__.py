"""Publications: their form, and what it would accept."""
