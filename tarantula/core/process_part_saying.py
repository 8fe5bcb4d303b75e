"""What a process that runs for long says of what it does."""

from __future__ import annotations

import logging
import sys


def log_to_stdout() -> None:
    """Print a line for everything that this process does."""
    logging.basicConfig(
        stream=sys.stdout, format="%(asctime)s %(message)s", datefmt="%Y-%m-%d %H:%M:%S", level=logging.INFO
    )
    for name in ("apscheduler", "apprise"):
        logging.getLogger(name).setLevel(logging.ERROR)
