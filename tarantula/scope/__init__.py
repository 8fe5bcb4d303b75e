"""What belongs to a publication: one small class a rule, and a sequence that says which rule decided."""
