"""Tests of what people do: roles, audit log and results."""
