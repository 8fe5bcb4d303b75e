"""Use cases: check the person's role, make the change and write the audit log, in one transaction.

The API, the pages and the command line call these functions; nothing here depends on them.
"""
