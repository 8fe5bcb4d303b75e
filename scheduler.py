"""Run the daemon: ``python scheduler.py``. Its rounds are in `tarantula.lifecycle.daemon`."""

from __future__ import annotations

import signal
import sys
from argparse import ArgumentParser
from threading import Event

from tarantula.core.config import Config
from tarantula.core.errors import TarantulaError
from tarantula.core.files import restrict_new_files
from tarantula.core.output import protect_output
from tarantula.core.process import log_to_stdout
from tarantula.core.termination import note_sigterm
from tarantula.lifecycle.daemon import running_daemon


def main() -> None:
    """Run until SIGTERM or Ctrl-C."""
    ArgumentParser(description="The daemon: collects what is due, until Ctrl-C. docs/daemon.md says more.").parse_args()
    restrict_new_files()
    protect_output()
    log_to_stdout()
    over = Event()
    signal.signal(signal.SIGINT, lambda *_: over.set())
    note_sigterm(over.set)
    try:
        with running_daemon(Config()):
            over.wait()
    except TarantulaError as error:
        print(error, file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
