"""How often pages change, from what visits saw of them."""
