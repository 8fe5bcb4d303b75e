"""``tarantula stream``: values that are followed."""
