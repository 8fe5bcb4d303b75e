"""The simulator of 2007: crawlers, servers and documents on a line of events."""
