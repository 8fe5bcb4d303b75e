"""The verbs of `tarantula stream`."""
