"""One generated spider for each publication."""
