"""Reports, indicators and decisions about a collected item."""
