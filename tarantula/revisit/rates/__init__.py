"""Change rates of pages, estimated from the observations of earlier visits."""
