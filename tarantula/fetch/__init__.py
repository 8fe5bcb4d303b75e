"""The HTTP client, with name resolution, robots.txt, politeness and media types."""
