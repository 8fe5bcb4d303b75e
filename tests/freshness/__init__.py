"""Tests of freshness estimates and visit plans."""
