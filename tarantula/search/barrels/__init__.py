"""Several indexes that answer as one: barrels, and the gateway that asks them."""
