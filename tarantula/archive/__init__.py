"""What becomes of an item that was collected: browsed, deposited, compared, removed."""
