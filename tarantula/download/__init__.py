"""One exchange with one server: the bytes as they were sent, within limits."""
