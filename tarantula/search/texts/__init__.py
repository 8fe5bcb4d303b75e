"""What documents say: read once, in words as they are written and by their stems."""
