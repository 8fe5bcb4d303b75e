"""Where links live, and how they are found."""
