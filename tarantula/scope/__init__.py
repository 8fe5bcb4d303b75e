"""The rules that decide which documents belong to a publication, and the sequence that says which rule decided."""
