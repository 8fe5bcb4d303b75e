"""Tests of the use cases: roles, audit log and results."""
