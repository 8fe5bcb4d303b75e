"""What is found in an index, and how it is shown."""
