"""Reading again and again: which source is due, whose server's turn it is, what came of it."""
