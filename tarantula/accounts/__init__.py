"""Accounts, roles, sessions, tokens and the audit log."""
