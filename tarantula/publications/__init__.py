"""A publication: what a person says is wanted, validated, stored, imported and exported."""
