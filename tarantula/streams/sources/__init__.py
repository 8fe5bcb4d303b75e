"""Sources: the configuration of what is read, its request, its retention, and the registry that stores it."""
