"""When to visit again: how often pages change, how often each is worth a visit, when, and how fresh that keeps them."""
