"""What is followed: where a value is, what it is, how often it is read, whose it is."""
