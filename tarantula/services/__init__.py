"""What people do: checked against their role, done, and written to the audit log in one transaction; the API, the
pages and the CLI stand on it.
"""
