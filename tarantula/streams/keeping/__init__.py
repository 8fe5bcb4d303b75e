"""What becomes of a reading: a value with its type, an event, something put aside, something missing."""
