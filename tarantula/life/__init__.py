"""The life of an item: planned, launched, watched, completed, told of. Every step goes by the database alone."""
