"""Search over several processes: barrels with an index each, and the gateway that queries them."""
