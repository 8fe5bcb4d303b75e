"""Ways of looking at sources: what is asked for, and what of it is shown."""
