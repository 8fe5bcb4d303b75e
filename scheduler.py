"""The daemon: ``python scheduler.py``. It is only the clock; what is done is in `tarantula.coordinator`."""

from __future__ import annotations

import signal
import sys
from argparse import ArgumentParser
from threading import Event

from tarantula.config import Config
from tarantula.daemon import ticking
from tarantula.errors import TarantulaError
from tarantula.saying import say_what_is_done


def main() -> None:
    """Run until somebody ends it."""
    ArgumentParser(description="The daemon: collects what is due, until Ctrl-C. docs/daemon.md says more.").parse_args()
    say_what_is_done()
    over = Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: over.set())
    try:
        with ticking(Config()):
            over.wait()
    except TarantulaError as error:
        print(error, file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
