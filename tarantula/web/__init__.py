"""Management pages, search pages and the HTTP API. Needs `tarantula[web]`."""
