"""Page and slot chosen together, at prices of a server's time."""
