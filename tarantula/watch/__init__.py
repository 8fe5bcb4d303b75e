"""An item, seen while it happens: looked at twice a second, at a cost that does not grow with it."""
