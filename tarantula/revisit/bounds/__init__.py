"""What no schedule can be better than."""
