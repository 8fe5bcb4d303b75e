"""Point-and-click picker: fetch a page, show it safely, and turn clicked elements into the fields of a source."""
