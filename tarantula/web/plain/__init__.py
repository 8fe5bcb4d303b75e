"""Pages in plain HTML, made on the server: quick, and usable without scripts."""
