"""Pages and bodies of an item as a browser shows them."""
