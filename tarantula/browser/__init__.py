"""Pages as a browser renders them."""
