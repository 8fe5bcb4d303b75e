"""One collector at work on one item."""
