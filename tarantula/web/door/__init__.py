"""The door: who comes in, and what no request gets past."""
