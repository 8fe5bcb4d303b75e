"""Search queries: parsing, translation into index queries, spelling corrections."""
