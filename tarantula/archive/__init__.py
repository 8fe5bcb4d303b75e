"""What becomes of an item once it is collected."""
