"""Search and suggestion pages in plain HTML, made on the server and usable without scripts."""
