"""What becomes of an item when it was collected."""
