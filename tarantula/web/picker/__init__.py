"""The picker: a page of another site, shown in a sandboxed frame, on which values are selected."""
