"""The browsable copy of an item, in which links lead to local files."""
