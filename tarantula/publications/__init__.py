"""Configuration of publications: fields, document types, servers and schedule."""
