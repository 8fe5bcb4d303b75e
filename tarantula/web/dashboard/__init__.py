"""The dashboard: view cards, their contents and the dialog that edits a view."""
