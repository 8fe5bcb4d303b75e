"""Live progress of a running item, polled twice a second at a cost that does not grow with the item."""
