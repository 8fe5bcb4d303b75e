"""Policies without a horizon: what to visit now."""
