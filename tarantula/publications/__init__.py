"""What is wanted of the web: the configuration of a publication, its document types, servers and schedule."""
