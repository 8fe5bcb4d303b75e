"""A value that is found again when its page has changed, or doubted; never another one in its place."""
