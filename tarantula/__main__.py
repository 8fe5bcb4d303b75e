"""``python -m tarantula`` is the ``tarantula`` command."""

from __future__ import annotations

from tarantula.cli import main

if __name__ == "__main__":
    main()
