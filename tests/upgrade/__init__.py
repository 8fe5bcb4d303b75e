"""Homes and databases of earlier versions."""
