"""Items: looked at, walked through, decided about."""
