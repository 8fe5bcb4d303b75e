"""Discrete-event simulator of crawlers, servers and changing documents."""
