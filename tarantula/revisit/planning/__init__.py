"""Plans for pages of different ages whose rates are believed rather than known."""
