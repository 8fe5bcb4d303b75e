"""Management in the browser. Needs `tarantula[web]`."""
