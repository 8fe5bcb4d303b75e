"""What was collected, found: texts are read once, indexed by whoever follows, ranked by their words and their links."""
