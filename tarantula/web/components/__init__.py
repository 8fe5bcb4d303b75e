"""Interface components that several pages use."""
