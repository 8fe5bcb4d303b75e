"""Which document comes next: the waiting rows of an item, in memory a window at a time."""
